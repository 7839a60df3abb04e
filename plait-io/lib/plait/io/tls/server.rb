# frozen_string_literal: true

require "openssl"
require_relative "identity"
require_relative "socket"

module Plait
  module Io
    module TLS
      # The accepting side: certificates by the name that is asked for, and what is demanded of clients.
      class Server
        VERIFY = {
          nil => OpenSSL::SSL::VERIFY_NONE,
          optional: OpenSSL::SSL::VERIFY_PEER,
          required: OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
        }.freeze
        # RFC 6125 §6.4.3: one label, and nothing but the star in it.
        FIRST_LABEL = /\A[^.]+/

        # @param certificate [String, OpenSSL::X509::Certificate] see {Identity}, with key and chain
        # @param hosts [Hash{String => Hash}] "name" or "*.name" => {certificate:, key:, chain:}, for clients that ask for it
        # @param alpn [Array<String>, nil] protocols we speak, the preferred one first; a client that offers others only
        #   is refused (RFC 7301 §3.2), one that offers nothing is not
        # @param client_ca [String, nil] a file of certificates; their clients are trusted
        # @param min_version [Symbol] :TLS1_2 or :TLS1_3
        def initialize(certificate:, key:, chain: [], hosts: {}, alpn: nil, client_ca: nil, verify_client: nil,
                       min_version: :TLS1_2)
          @alpn = alpn
          @min_version = min_version
          @client_ca = client_ca
          @verify = VERIFY.fetch(verify_client) { raise UsageError, "verify_client: is nil, :optional or :required" }
          raise UsageError, "verify_client: needs a client_ca: which authorities shall we trust?" if verify_client && !client_ca

          check_authority if client_ca
          @hosts = hosts.to_h { |name, identity| [name.downcase, context(Identity.new(**identity)).tap(&:freeze)] }.freeze
          @context = context(Identity.new(certificate: certificate, key: key, chain: chain))
          choose_by_name unless @hosts.empty?
          @context.freeze
        end

        # @param socket [::Socket] accepted; closed when the handshake fails
        # @param endpoint [Endpoint, nil] for messages
        # @raise [TLSError, ConnectTimeout]
        def handshake(socket, endpoint = nil, deadline: nil)
          secure = Socket.new(socket, @context)
          secure.sync_close = true
          done = Handshake.run(secure, :accept_nonblock, endpoint, deadline)
        rescue OpenSSL::SSL::SSLError, SystemCallError, IOError => e
          raise TLSError.new("the TLS handshake of a client failed: #{e.message}", endpoint: endpoint)
        ensure
          socket.close unless done
        end

        private

        # OpenSSL would not say which file it could not read.
        def check_authority
          OpenSSL::X509::Store.new.add_file(@client_ca)
        rescue OpenSSL::X509::StoreError => e
          raise UsageError, "client_ca: #{@client_ca.inspect} can't be read as certificates: #{e.message}"
        end

        def context(identity)
          OpenSSL::SSL::SSLContext.new.tap do |context|
            identity.install(context)
            context.min_version = @min_version
            context.verify_mode = @verify
            context.ca_file = @client_ca if @client_ca
            context.session_id_context = "plait" # without one OpenSSL resumes no session of a verified client
            choose_protocol(context, @alpn) if @alpn
          end
        end

        def choose_protocol(context, spoken)
          context.alpn_select_cb = lambda do |offered|
            (spoken & offered).first or
              raise TLSError, "a client speaks #{offered.join(", ")}, and we speak #{spoken.join(", ")} (alpn:)"
          end
        end

        def choose_by_name
          hosts = @hosts
          @context.servername_cb = lambda do |(_socket, name)|
            asked = name.to_s.downcase
            hosts[asked] || hosts[asked.sub(FIRST_LABEL, "*")]
          end
        end
      end
    end
  end
end
