# frozen_string_literal: true

require_relative "cookie"
require_relative "date"
require_relative "matching"

module Plait
  module HTTP
    class CookieJar
      # The value of one Set-Cookie, read as servers write it (RFC 6265 §5.2): what is unknown or malformed in it is passed
      # over.
      class SetCookie
        # Bytes of a name and its value, and of an attribute's value (RFC 6265bis §5.6).
        LARGEST = 4096
        LARGEST_ATTRIBUTE = 1024
        # A TAB is white space (§5.2): with a space, all there is left of it for `strip` to take.
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        # Seconds for which a cookie is kept (RFC 6265bis §5.5).
        LONGEST = 400 * 86_400
        private_constant :LARGEST, :LARGEST_ATTRIBUTE, :CONTROL, :LONGEST

        # @param text [String]
        # @return [SetCookie, nil] nil when there is no cookie in it
        def self.parse(text)
          text = text.b
          return if CONTROL.match?(text)

          pair, *attributes = text.split(";", -1)
          name, value = pair.to_s.split("=", 2).map(&:strip)
          new(name, value, attributes) if value && name?(name) && name.bytesize + value.bytesize <= LARGEST
        end

        # @api private
        def self.name?(name) = !name.empty? && !name.include?("\t")

        # @api private
        def initialize(name, value, attributes)
          @name = name
          @value = value
          @attributes = attributes.to_h { |attribute| split(attribute) } # the last one of a name wins
        end

        # @param url [URL] who sets it
        # @param public_suffix [#call]
        # @param now [Time]
        # @return [Cookie, nil] nil when it is not for this host to set (§5.3)
        def cookie(url, public_suffix, now)
          domain = domain_for(url.host, public_suffix) or return
          return if secure? && url.scheme != :https
          return unless prefix_kept?(url)

          Cookie.new(name: @name, value: @value, domain: domain, path: path_for(url), expires: expires(now), secure: secure?,
                     http_only: @attributes.key?("httponly"), host_only: host_only?(url.host, public_suffix))
        end

        private

        def split(attribute)
          name, value = attribute.split("=", 2).map(&:strip)
          value.to_s.bytesize > LARGEST_ATTRIBUTE ? ["", nil] : [name.to_s.downcase, value]
        end

        def secure? = @attributes.key?("secure")

        # §5.2.3
        # @return [String, nil]
        def asked_domain
          domain = @attributes["domain"].to_s.delete_prefix(".").downcase
          domain unless domain.empty?
        end

        # @return [String, nil] nil: it must not
        def domain_for(host, public_suffix)
          asked = asked_domain
          return host if asked.nil? || asked == host

          asked if Matching.domain?(host, asked) && !public_suffix.call(asked)
        end

        # §5.3, step 5: a host that is a public suffix itself has its cookies for itself.
        def host_only?(host, public_suffix)
          asked_domain.nil? || (asked_domain == host && (Matching.address?(host) || public_suffix.call(host)))
        end

        # §5.2.4, §5.1.4
        def path_for(url)
          path = @attributes["path"].to_s
          return path if path.start_with?("/") && !path.include?("\t")

          default = url.path[%r{\A(/.*)/}m, 1]
          default || "/"
        end

        # §5.2.1, §5.2.2: Max-Age wins.
        # @return [Time, nil]
        def expires(now)
          seconds = @attributes["max-age"].to_s
          return now + [seconds.to_i, LONGEST].min if seconds.match?(/\A\d+\z/)
          return Time.at(0) if seconds.match?(/\A-\d+\z/)

          date = @attributes["expires"] && Date.parse(@attributes["expires"])
          date && [date, now + LONGEST].min
        end

        # Names that promise how a cookie was set (RFC 6265bis §4.1.3).
        def prefix_kept?(url)
          case @name
          when /\A__Secure-/i then secure?
          when /\A__Host-/i then secure? && asked_domain.nil? && @attributes["path"] == "/" && url.scheme == :https
          else true
          end
        end
      end
    end
  end
end
