# frozen_string_literal: true

require "openssl"
require_relative "handshake"
require_relative "identity"
require_relative "rejection"
require_relative "sessions"
require_relative "socket"
require "plait/values/errors"

module Plait
  module Io
    module TLS
      # The connecting side. One object holds what is trusted, who we are, and the sessions that can be used again; it
      # serves any number of threads and fibers.
      class Client
        # Whom a handshake expects, and the certificate that was judged last. OpenSSL doesn't tell a check for which socket
        # it is, but it runs in the fiber that does the handshake: a variable of that fiber brings this in and out.
        Check = Struct.new(:name, :certificate)
        CURRENT = :plait_tls_check
        private_constant :Check, :CURRENT

        class << self
          # The system's certificates, read once: they are some megabytes.
          # @return [OpenSSL::X509::Store]
          # @api private
          def system_store = @system_store ||= OpenSSL::X509::Store.new.tap(&:set_default_paths)
        end

        # @param verify [Boolean] false trusts anybody; a CA of one's own belongs into ca_file
        # @param verify_hostname [Boolean] false trusts a certificate for any name that a trusted CA has issued
        # @param ca_file [String, nil] certificates to trust, instead of the system's
        # @param ca_path [String, nil] a folder of such, prepared by `openssl rehash`
        # @param cert_store [OpenSSL::X509::Store, nil] instead of both
        # @param alpn [Array<String>, nil] protocols we offer, the preferred one first
        # @param min_version [Symbol] :TLS1_2 or :TLS1_3
        # @param certificate [String, OpenSSL::X509::Certificate, nil] ours, with its key and chain: see {Identity}
        # @param ciphers [String, nil] OpenSSL's list, for TLS 1.2
        # @param hostname [String, nil] whom to ask for and to expect, where it isn't the host connected to
        # @param sessions [Integer] endpoints whose sessions are kept
        # @raise [UsageError]
        def initialize(verify: true, verify_hostname: true, ca_file: nil, ca_path: nil, cert_store: nil, alpn: nil,
                       min_version: :TLS1_2, certificate: nil, key: nil, chain: [], ciphers: nil, hostname: nil, sessions: 256)
          # Nobody is to be trusted for an option that happens to be nil.
          { verify: verify, verify_hostname: verify_hostname }.each do |name, value|
            raise UsageError, "#{name}: is true or false, not #{value.inspect}" unless [true, false].include?(value)
          end
          @hostname = hostname
          @verify = verify
          @any_name = !verify_hostname
          @sessions = Sessions.new(sessions) if sessions.positive?
          @context = OpenSSL::SSL::SSLContext.new
          offer(min_version, ciphers, alpn)
          trust(cert_store || store(ca_file, ca_path))
          Identity.new(certificate: certificate, key: key, chain: chain).install(@context) if certificate
          keep_sessions
          @context.freeze
        end

        # @param socket [::Socket] connected; closed when the handshake fails
        # @param endpoint [Endpoint] for whom the certificate must be
        # @param deadline [Deadline, nil]
        # @return [Socket]
        # @raise [CertificateError, TLSError, ConnectTimeout]
        def handshake(socket, endpoint, deadline: nil)
          check = Thread.current[CURRENT] = Check.new(@hostname || endpoint.host_without_zone)
          secure = prepare(socket, endpoint, check.name)
          Handshake.run(secure, :connect_nonblock, endpoint, deadline)
          confirm(secure, endpoint, check) if @verify && secure.session_reused? # OpenSSL then checks nothing
          done = secure
        rescue OpenSSL::SSL::SSLError => e
          raise explain(e, secure, endpoint, check)
        rescue SystemCallError, IOError => e
          raise TLSError.new("the TLS handshake with #{endpoint} broke off: #{e.message}", endpoint: endpoint)
        ensure
          Thread.current[CURRENT] = nil
          socket.close unless done
        end

        # @return [Integer] endpoints with a session that can be used again
        def sessions = @sessions&.size || 0

        private

        def offer(min_version, ciphers, alpn)
          known = alpn.nil? || (alpn.is_a?(Array) && alpn.all?(String))
          raise UsageError, "alpn: takes an Array of names, such as %w[h2 http/1.1], not #{alpn.inspect}" unless known

          @context.min_version = min_version
          @context.ciphers = ciphers if ciphers
          @context.alpn_protocols = alpn if alpn
        rescue ArgumentError, OpenSSL::SSL::SSLError => e
          raise UsageError, "min_version: #{min_version.inspect}, ciphers: #{ciphers.inspect}: OpenSSL has no such: #{e.message}"
        end

        def trust(store)
          return @context.verify_mode = OpenSSL::SSL::VERIFY_NONE unless @verify

          @context.verify_mode = OpenSSL::SSL::VERIFY_PEER
          @context.cert_store = store
          @context.verify_callback = ->(trusted, verdict) { trusted ? right_name?(verdict) : judged(verdict, false) }
        end

        # Within the handshake, before our own certificate is shown; OpenSSL's own way knows no literal addresses.
        def right_name?(verdict)
          return true if verdict.error_depth.positive?
          return judged(verdict, true) if @any_name

          right = OpenSSL::SSL.verify_certificate_identity(verdict.current_cert, Thread.current[CURRENT].name)
          verdict.error = Rejection::WRONG_NAME unless right
          judged(verdict, right)
        end

        def confirm(secure, endpoint, check)
          return if @any_name || OpenSSL::SSL.verify_certificate_identity(secure.peer_cert, check.name)

          raise Rejection.new(endpoint, check.name, Rejection::WRONG_NAME, secure.peer_cert).error
        end

        def judged(verdict, good)
          Thread.current[CURRENT].certificate = verdict.current_cert
          good
        end

        def store(file, path)
          return Client.system_store unless file || path

          OpenSSL::X509::Store.new.tap do |store|
            store.add_file(file) if file
            store.add_path(path) if path
          end
        rescue OpenSSL::X509::StoreError => e
          raise UsageError, "ca_file: #{file.inspect} can't be read as certificates: #{e.message}"
        end

        def keep_sessions
          return @context.session_cache_mode = OpenSSL::SSL::SSLContext::SESSION_CACHE_OFF unless @sessions

          @context.session_cache_mode = OpenSSL::SSL::SSLContext::SESSION_CACHE_CLIENT |
                                        OpenSSL::SSL::SSLContext::SESSION_CACHE_NO_INTERNAL_STORE
          sessions = @sessions
          @context.session_new_cb = lambda do |(socket, session)|
            sessions.store(socket.session_key, session, once: socket.ssl_version == "TLSv1.3")
          end
        end

        def prepare(socket, endpoint, name)
          secure = Socket.new(socket, @context)
          secure.sync_close = true
          secure.hostname = name unless address?(name) # RFC 6066 §3: no literal addresses
          secure.session_key = "#{name} #{endpoint}"
          session = @sessions&.take(secure.session_key)
          secure.session = session if session
          secure
        end

        def address?(name) = name.include?(":") || name.match?(/\A[\d.]+\z/)

        def explain(error, secure, endpoint, check)
          code = secure&.verify_result || OpenSSL::X509::V_OK
          return Rejection.new(endpoint, check.name, code, check.certificate).error if code != OpenSSL::X509::V_OK

          TLSError.new("the TLS handshake with #{endpoint} failed: #{error.message}#{advice(error)}", endpoint: endpoint)
        end

        def advice(error)
          case error.message
          when /wrong version number|record layer|http request/ then " (does it speak TLS on this port?)"
          when /alert (?:bad|unknown|certificate|handshake|no)|certificate required/ then " (does it want a client certificate?)"
          when /protocol version|unsupported protocol/ then " (it speaks no TLS version that we accept: see min_version)"
          end
        end
      end
    end
  end
end
