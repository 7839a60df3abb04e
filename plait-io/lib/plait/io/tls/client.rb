# frozen_string_literal: true

require "openssl"
require_relative "identity"
require_relative "socket"
require "plait/io/native"

module Plait
  module Io
    module TLS
      # The connecting side: the trusted certificates, our own, and the sessions to use again. One object serves any number
      # of threads and fibers.
      class Client
        # The name that a handshake expects, and the certificate that was checked last. OpenSSL doesn't name the socket of a
        # check, but it runs in the fiber that does the handshake: a variable of that fiber brings this in and out.
        Check = Struct.new(:name, :certificate)
        CURRENT = :plait_tls_check

        class << self
          # The system's certificates, read once: they are some megabytes.
          def system_store = @system_store ||= OpenSSL::X509::Store.new.tap(&:set_default_paths)
        end

        # @param verify [Boolean] false trusts any peer; name your own CA by ca_file
        # @param verify_hostname [Boolean] false trusts a certificate for any name that a trusted CA has issued
        # @param ca_file [String, nil] certificates to trust, instead of the system's
        # @param ca_path [String, nil] a folder of such, prepared by `openssl rehash`
        # @param cert_store [OpenSSL::X509::Store, nil] instead of both
        # @param alpn [Array<String>, nil] protocols we offer, the preferred one first
        # @param min_version [Symbol] :TLS1_2 or :TLS1_3
        # @param certificate [String, OpenSSL::X509::Certificate, nil] ours, with its key and chain: see {Identity}
        # @param ciphers [String, nil] OpenSSL's list, for TLS 1.2
        # @param hostname [String, nil] the name to ask for and to expect, where it isn't the host
        # @param sessions [Integer] endpoints with a kept session, at most
        def initialize(verify: true, verify_hostname: true, ca_file: nil, ca_path: nil, cert_store: nil, alpn: nil,
                       min_version: :TLS1_2, certificate: nil, key: nil, chain: [], ciphers: nil, hostname: nil, sessions: 256)
          # An option that happens to be nil must not switch trust on.
          { verify: verify, verify_hostname: verify_hostname }.each do |name, value|
            raise UsageError, "#{name}: is true or false, not #{value.inspect}" unless [true, false].include?(value)
          end
          @hostname = hostname
          @verify = verify
          @any_name = !verify_hostname
          @sessions = Sessions.new(sessions) if sessions.positive? && Native.available? && NativeTLS.found?
          @context = OpenSSL::SSL::SSLContext.new
          offer(min_version, ciphers, alpn)
          trust(cert_store || store(ca_file, ca_path))
          Identity.new(certificate: certificate, key: key, chain: chain).install(@context) if certificate
          @context.session_cache_mode = OpenSSL::SSL::SSLContext::SESSION_CACHE_OFF
          # A second handshake would call Ruby in the midst of a read.
          @context.options |= OpenSSL::SSL::OP_NO_RENEGOTIATION if defined?(OpenSSL::SSL::OP_NO_RENEGOTIATION)
          @context.freeze
        end

        # @param socket [::Socket] connected; closed when the handshake fails
        # @param endpoint [Endpoint] that the certificate must name
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

        def prepare(socket, endpoint, name)
          secure = Socket.new(socket, @context)
          secure.sync_close = true
          secure.hostname = name unless address?(name) # RFC 6066 §3: no literal addresses
          resume(secure, "#{name} #{endpoint}") if @sessions
          secure
        end

        def resume(secure, key)
          session = @sessions.take(key)
          NativeTLS.resume(secure, session) if session
          secure.sessions = ->(newer, once:) { @sessions.store(key, newer, once: once) }
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

      # Sessions by endpoint, so that the next handshake with it is a short one. Bounded: the endpoint that was used longest
      # ago makes room. Under TLS 1.3 a ticket serves one connection (RFC 8446 §C.4), so several are kept.
      # @api private
      class Sessions
        # Sessions kept for an endpoint.
        EACH = 8

        # @param size [Integer] endpoints at most
        def initialize(size)
          @size = size
          @kept = {}
          @lock = Mutex.new
        end

        # @param once [Boolean] whether it may serve one connection only
        def store(key, session, once:)
          @lock.synchronize do
            entries = @kept.delete(key) || []
            entries.clear unless once
            @kept[key] = entries.push([session, once]).last(EACH)
            @kept.shift if @kept.size > @size
          end
        end

        # @return [OpenSSL::SSL::Session, nil] the newest
        def take(key)
          @lock.synchronize do
            entries = @kept[key] or return
            session, once = entries.last
            entries.pop if once
            @kept.delete(key) if entries.empty?
            session
          end
        end
      end

      # Makes of OpenSSL's verdict an error that says what is wrong with a certificate and what to do.
      class Rejection
        # X509_V_ERR_HOSTNAME_MISMATCH, for which JRuby has no constant.
        WRONG_NAME = 62
        NAMES = {
          expired: %i[CERT_HAS_EXPIRED], not_yet_valid: %i[CERT_NOT_YET_VALID], revoked: %i[CERT_REVOKED],
          self_signed: %i[DEPTH_ZERO_SELF_SIGNED_CERT],
          unknown_issuer: %i[SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY
                             UNABLE_TO_VERIFY_LEAF_SIGNATURE]
        }.freeze
        REASONS = NAMES.flat_map { |reason, names| names.map { |name| [OpenSSL::X509.const_get("V_ERR_#{name}"), reason] } }
                       .to_h.merge(WRONG_NAME => :wrong_name).freeze

        # @param name [String] that it must have
        # @param code [Integer] OpenSSL's verdict
        # @param certificate [OpenSSL::X509::Certificate, nil] the one that was rejected
        def initialize(endpoint, name, code, certificate)
          @endpoint = endpoint
          @name = name
          @certificate = certificate
          @code = code
          @reason = REASONS.fetch(code, :rejected)
        end

        def error = CertificateError.new("#{@endpoint} was not trusted: #{text}", reason: @reason, endpoint: @endpoint)

        private

        def text
          case @reason
          when :expired then "its certificate expired#{at(:not_after)}: its operator must renew it (or is our clock wrong?)"
          when :not_yet_valid then "its certificate is valid only#{at(:not_before, "from")}: is our clock right?"
          when :self_signed then "its certificate is self-signed: if you trust it, give it as ca_file: or cert_store:"
          when :unknown_issuer then unknown_issuer
          when :wrong_name then "its certificate is for #{names}, not for #{@name}: is that the right host?"
          else verdict
          end
        end

        def unknown_issuer
          "no authority we trust has issued its certificate#{" (issuer: #{@certificate.issuer})" if @certificate}: " \
            "if you trust them, give theirs as ca_file:; perhaps the server doesn't send its whole chain"
        end

        def verdict
          words = OpenSSL::X509::StoreContext.new(OpenSSL::X509::Store.new).tap { |check| check.error = @code }.error_string
          "its certificate was rejected: #{words}"
        end

        def at(field, word = "on")
          @certificate ? " #{word} #{@certificate.public_send(field).utc.strftime("%Y-%m-%d %H:%M UTC")}" : ""
        end

        def names
          found = @certificate ? alternative_names : []
          found.empty? ? "another name" : found.first(5).join(", ")
        end

        def alternative_names
          extension = @certificate.find_extension("subjectAltName") or return [@certificate.subject.to_s]
          extension.value.split(/,\s*/).map { |entry| entry.sub(/\A(?:DNS|IP Address):/, "") }
        end
      end
    end
  end
end
