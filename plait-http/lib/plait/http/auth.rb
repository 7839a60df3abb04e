# frozen_string_literal: true

require_relative "auth/digest"

module Plait
  module HTTP
    # The Authorization field (RFC 9110 §11.6.2): Basic (RFC 7617), Bearer (RFC 6750), Digest (RFC 7616), or a text of the caller.
    # @api private
    module Auth
      FORMS = "[user, password], {basic: [user, password]}, {bearer: token}, {digest: [user, password]}, the value of the " \
              "field as a String, or something to call that returns one of these, but no digest"
      # RFC 6750 §2.1
      TOKEN = %r{\A[A-Za-z0-9\-._~+/]+=*\z}

      class << self
        # What a client or a request keeps of its options.
        # @param refresh [#call, nil] see {Renewal}
        def prepared(auth, refresh = nil)
          auth = Digest.new(*auth[:digest]) if auth.is_a?(Hash) && auth.size == 1 && auth.key?(:digest)
          return auth if refresh.nil? || auth == false || (auth.is_a?(Renewal) && auth.by?(refresh))
          raise UsageError, "a client takes refresh: or auth: {digest: …}, not both" if auth.is_a?(Digest)

          Renewal.new(auth, refresh)
        end

        # @return [Boolean] whether the field needs neither a call nor an answer of the server
        def plain?(auth) = auth.is_a?(Array) || (auth.is_a?(Hash) && !auth.key?(:digest))

        # @return [Boolean] whether the field is the same for each request
        def fixed?(auth) = !auth.respond_to?(:call) && !auth.is_a?(Digest)

        # @param request [Request, nil] that Digest answers for
        # @return [String, nil] the value of the field
        # @raise [UsageError] for anything else; it never tells the secret
        def header(auth, request = nil)
          case auth
          when nil, false then nil
          when Digest then auth.header(request)
          when String then auth
          when Array then basic(*auth)
          when Hash then from_hash(auth)
          else header(called(auth))
          end
        end

        # @param user [String] without a colon
        # @raise [UsageError]
        def basic(user = nil, password = nil, *rest)
          raise UsageError, "auth: Basic takes a user and a password: [user, password]" if user.nil? || rest.any?
          raise UsageError, "auth: the user of Basic can't have a colon (RFC 7617 §2)" if user.to_s.include?(":")

          "Basic #{["#{user}:#{password}"].pack("m0")}"
        end

        def bearer(token)
          return "Bearer #{token}" if TOKEN.match?(token.to_s)

          raise UsageError, "auth: a Bearer token has letters, digits and -._~+/= only (RFC 6750 §2.1)"
        end

        private

        def from_hash(auth)
          kind, value = auth.first
          return basic(*value) if auth.size == 1 && kind == :basic
          return bearer(value) if auth.size == 1 && kind == :bearer

          raise UsageError, "auth: takes #{FORMS}; not a Hash of #{auth.keys.map(&:inspect).join(", ")}"
        end

        def called(auth)
          raise UsageError, "auth: takes #{FORMS}; not #{auth.class}" unless auth.respond_to?(:call)

          value = auth.call
          raise UsageError, "auth: the callable returned another callable" if value.respond_to?(:call)

          value
        end
      end

      # Credentials that are renewed after a 401: of many calls with the old ones, only the first asks for new ones.
      class Renewal
        # @param auth [Object, nil] see {Auth.header}
        # @param refresh [#call] is given the response, and returns new credentials, or nil
        def initialize(auth, refresh)
          raise UsageError, "refresh: takes something to call, not #{refresh.class}" unless refresh.respond_to?(:call)

          @auth = auth
          @refresh = refresh
          @lock = Mutex.new
        end

        # @return [Object, nil] the credentials of now
        def call
          auth = @auth
          auth.respond_to?(:call) ? auth.call : auth
        end

        # @return [Boolean] whether it is renewed by this callable
        def by?(refresh) = @refresh.equal?(refresh)

        # Seconds between two looks whether another call has renewed them.
        LOOK = 0.01
        private_constant :LOOK

        # @param since [Float] monotonic seconds: when the refused credentials were read
        # @param limit [Float, nil] monotonic seconds: then the caller gets the 401. `refresh` may call by other threads or fibers
        # @return [Boolean] whether there are others now
        def renew(response, _request, since, limit = nil)
          return false if @lock.owned? # a call of `refresh` itself

          locked = false
          begin
            until Uninterruptible.run { locked = @lock.try_lock }
              return false if limit && Deadline.now >= limit

              sleep(LOOK)
            end
            (!@at.nil? && @at > since) || ask(response)
          ensure
            @lock.unlock if locked
          end
        end

        def inspect = "#<#{self.class}>"

        private

        def ask(response)
          auth = @refresh.call(response)
          return false if auth.nil?

          @auth = auth
          @at = Deadline.now
          true
        end
      end

      # Users and passwords of hosts, as curl and ftp read them from ~/.netrc.
      class Netrc
        WORD = /"(?:[^"\\]|\\.)*"|\S+/
        COMMENT = /\A\s*#/
        MACRO = /(?:\A|\s)macdef\s/

        # @param spec [true, String, nil] true: the file that NETRC names, or ~/.netrc, if it is there
        # @raise [UsageError] for a file that can't be read
        def self.from(spec)
          return unless spec

          path = spec == true ? ENV.fetch("NETRC") { File.expand_path("~/.netrc") } : spec
          new(File.read(path)) unless spec == true && !File.exist?(path)
        rescue SystemCallError, TypeError, ArgumentError => e
          raise UsageError, "netrc: takes true or the path of a file: #{e.message}"
        end

        def initialize(text)
          @entries = {}
          read(words(text.b))
        end

        # @return [Array(String, String), nil] user and password
        def [](host)
          entry = @entries[host] || @entries[nil]
          entry.values_at("login", "password") if entry&.key?("password")
        end

        def inspect = "#<#{self.class}>"

        private

        # A macro goes to the next empty line.
        def words(text)
          macro = false
          text.each_line.flat_map do |line|
            macro = false if line.strip.empty?
            next [] if macro || line.match?(COMMENT)

            macro = line.match?(MACRO)
            line.scan(WORD).map { |word| plain(word) }
          end
        end

        def plain(word) = word.start_with?('"') && word.size > 1 ? word[1..-2].gsub(/\\(.)/n, "\\1") : word

        # The first entry of a host counts.
        def read(words)
          entry = {}
          until words.empty?
            case word = words.shift
            when "machine" then entry = (@entries[words.shift.to_s.downcase] ||= {})
            when "default" then entry = (@entries[nil] ||= {})
            else value = words.shift and entry[word] ||= value.force_encoding(Encoding::UTF_8)
            end
          end
        end
      end
    end
    private_constant :Auth
  end
end
