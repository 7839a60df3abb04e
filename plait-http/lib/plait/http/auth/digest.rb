# frozen_string_literal: true

require "digest"
require "securerandom"

module Plait
  module HTTP
    module Auth
      # A user and a password that never go out themselves (RFC 7616, also without qop as in RFC 2069). The first request to an
      # origin asks for the challenge; later ones answer it beforehand.
      class Digest
        # What a server sends with a 401.
        class Challenge
          # The best one first.
          ALGORITHMS = { "SHA-256" => ::Digest::SHA256, "MD5" => ::Digest::MD5 }.freeze
          START = /(?:\A|[\s,])Digest\s+/i
          PARAMETER = /\G[\s,]*([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/n

          class << self
            # @param fields [Array<String>] values of WWW-Authenticate
            # @return [Challenge, nil] nil: there is none that we can answer
            def best(fields)
              found = fields.flat_map { |field| all(field.b) }.select(&:answerable?)
              found.min_by { |challenge| ALGORITHMS.keys.index(challenge.name) }
            end

            private

            def all(field)
              found = []
              at = 0
              while (start = field.match(START, at))
                parameters, at = parameters(field, start.end(0))
                found << new(parameters)
              end
              found
            end

            def parameters(field, place)
              parameters = {}
              while (pair = PARAMETER.match(field, place))
                parameters[pair[1].downcase] = pair[3] || pair[2].gsub(/\\(.)/n, "\\1")
                place = pair.end(0)
              end
              [parameters, place]
            end
          end

          # @return [String] of the algorithm, without "-sess"
          attr_reader :name

          def initialize(parameters)
            @parameters = parameters
            algorithm = parameters.fetch("algorithm", "MD5").upcase
            @name = algorithm.delete_suffix("-SESS")
            @session = algorithm != @name
            @qop = parameters["qop"]&.downcase&.split(/[\s,]+/)
            @count = 0
          end

          def answerable?
            ALGORITHMS.key?(@name) && %w[realm nonce].all? { |key| @parameters.key?(key) } && (@qop.nil? || @qop.include?("auth"))
          end

          # @param other [Challenge, nil] whose answers are counted: a server takes each count once
          def same?(other) = !other.nil? && parameters.except("stale") == other.parameters.except("stale")

          # @param user [String] binary
          # @param password [String] binary
          # @return [String] the value of Authorization
          def answer(method, target, user, password)
            count = format("%08x", @count += 1)
            once = SecureRandom.hex(16)
            secret = secret(user, password, once)
            middle = @qop ? [nonce, count, once, "auth"] : [nonce]
            response = hash(secret, *middle, hash(method, target))
            text({ username: user, realm: @parameters["realm"], nonce: nonce, uri: target, response: response,
                   cnonce: (once if @qop || @session), opaque: @parameters["opaque"] },
                 { algorithm: @parameters["algorithm"], qop: ("auth" if @qop), nc: (count if @qop) })
          end

          protected

          attr_reader :parameters

          private

          def nonce = @parameters["nonce"]

          def secret(user, password, once)
            secret = hash(user, @parameters["realm"], password)
            @session ? hash(secret, nonce, once) : secret
          end

          def hash(*words) = ALGORITHMS.fetch(@name).hexdigest(words.map(&:b).join(":"))

          def text(quoted, plain)
            quoted = quoted.compact.map { |name, value| "#{name}=\"".b << value.b.gsub(/["\\]/n) { |byte| "\\#{byte}" } << '"' }
            "Digest ".b << [*quoted, *plain.compact.map { |name, value| "#{name}=#{value}".b }].join(", ")
          end
        end

        # Origins whose challenges are known; raising it costs memory.
        KEPT = 256

        # @raise [UsageError]
        def initialize(user = nil, password = nil, *rest)
          raise UsageError, "auth: Digest takes a user and a password: {digest: [user, password]}" if password.nil? || rest.any?
          raise UsageError, "auth: the user of Digest can't have a colon (RFC 7616 §3.4.4)" if user.to_s.include?(":")

          @user = user.to_s.b
          @password = password.to_s.b
          @challenges = {} # origin => challenge
          @lock = Mutex.new
        end

        # @return [String, nil] nil: the server has not said yet what it wants
        def header(request)
          @lock.synchronize { @challenges[request.origin]&.answer(request.method, request.url.target, @user, @password) }
        end

        # @param response [Response] a 401
        # @return [Boolean] whether {header} is another one now
        def renew(response, request, _since, _limit = nil)
          challenge = Challenge.best(response.headers.get_all("www-authenticate")) or return false
          @lock.synchronize do
            former = @challenges.delete(request.origin)
            @challenges.shift if @challenges.size >= KEPT
            @challenges[request.origin] = challenge.same?(former) ? former : challenge
          end
          true
        end

        def inspect = "#<#{self.class}>"
      end
    end
  end
end
