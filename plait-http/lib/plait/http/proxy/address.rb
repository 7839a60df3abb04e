# frozen_string_literal: true

require "plait/io/endpoint"
require "plait/values/errors"

module Plait
  module HTTP
    module Proxy
      # Where a proxy is and who we are there, as people write it: scheme://user:password@host:port.
      class Address
        FORM = %r{\A(?:(?<scheme>[a-z][a-z0-9+.-]*)://)?(?:(?<userinfo>[^@/?#]*)@)?(?<place>[^@/?#]+)/?\z}i
        private_constant :FORM

        class << self
          # @param text [String] without a scheme it is an HTTP proxy's
          # @param forms [String] what can be given, for messages
          # @return [Address]
          # @raise [UsageError] whose message has no password in it
          def parse(text, forms)
            parts = FORM.match(text.strip) if text.valid_encoding?
            raise UsageError, "#{safe(text).inspect} is no address of a proxy; give #{forms}" unless parts

            new((parts[:scheme] || "http").downcase, parts[:place], decode(parts[:userinfo]))
          end

          private

          # Whatever the password has in it.
          def safe(text) = text.scrub.sub(%r{\A([a-z0-9+.-]*://)?.*@}im, '\1…@')

          def decode(userinfo)
            return if userinfo.nil? || userinfo.empty?

            user, password = userinfo.split(":", 2).map { |word| word.b.gsub(/%(\h\h)/) { |code| code[1, 2].hex.chr } }
            [user, password.to_s].map(&:freeze).freeze
          end
        end

        # @return [String] in lower case
        attr_reader :scheme
        # @return [Array(String, String), nil] user and password, decoded
        attr_reader :credentials

        # @api private
        def initialize(scheme, place, credentials)
          @scheme = scheme
          @place = place
          @credentials = credentials
        end

        # @param default_port [Integer]
        # @return [Io::Endpoint]
        # @raise [UsageError]
        def endpoint(default_port)
          Io::Endpoint.parse("tcp://#{@place}", default_port: default_port)
        rescue UsageError => e
          raise UsageError, "the proxy #{self}: #{e.message}"
        end

        # @return [String] without the credentials
        def to_s = "#{@scheme}://#{@place}"
      end
    end
  end
end
