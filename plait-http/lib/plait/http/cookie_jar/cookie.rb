# frozen_string_literal: true

require_relative "matching"

module Plait
  module HTTP
    class CookieJar
      # One cookie as it is kept (RFC 6265 §5.3).
      # @!attribute name [String]
      # @!attribute value [String]
      # @!attribute domain [String] in lower case, without a dot before it
      # @!attribute path [String]
      # @!attribute expires [Time, nil] nil: with the session
      # @!attribute secure [Boolean] by TLS only
      # @!attribute http_only [Boolean] nothing to us: kept for who reads the file
      # @!attribute host_only [Boolean] not for the names below its domain
      # @!attribute created [Integer] the order in which they came
      Cookie = Struct.new(:name, :value, :domain, :path, :expires, :secure, :http_only, :host_only, :created,
                          keyword_init: true) do
        # @return [Array<String>] what makes a cookie the same one
        def key = [domain, path, name, host_only]

        # @return [String] "name=value"
        def pair = "#{name}=#{value}"

        # @param url [URL]
        # @return [Boolean] whether it is sent there (§5.4, step 1)
        def for?(url)
          return false if secure && url.scheme != :https

          (host_only ? url.host == domain : Matching.domain?(url.host, domain)) && Matching.path?(url.path, path)
        end

        # @param moment [Time]
        # @return [Boolean]
        def expired?(moment) = !expires.nil? && expires <= moment

        def inspect = "#<#{self.class} #{name}=… for #{domain}#{path}>"
      end
    end
  end
end
