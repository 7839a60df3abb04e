# frozen_string_literal: true

module Plait
  module HTTP
    class CookieJar
      # The dates of cookies (RFC 6265 §5.1.1): words in any order between any delimiters, of which the first that looks
      # like a time, a day, a month or a year is it.
      class Date
        DELIMITERS = /[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]+/n
        MONTHS = %w[jan feb mar apr may jun jul aug sep oct nov dec].freeze
        # In the order in which a word is tried.
        PARTS = {
          time: /\A(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D.*)?\z/mn, day: /\A(\d{1,2})(?:\D.*)?\z/mn,
          month: /\A(#{MONTHS.join("|")})/in, year: /\A(\d{2,4})(?:\D.*)?\z/mn
        }.freeze

        # @return [Time, nil] nil when it is no date
        def self.parse(text) = new(text).time

        def initialize(text)
          @found = {}
          text.b.split(DELIMITERS).each { |word| take(word) }
        end

        def time
          return unless @found.size == PARTS.size

          day = @found[:day].first.to_i
          moment = Time.utc(year, month, day, *clock)
          moment if year >= 1601 && moment.day == day # there is no 30 February
        rescue ArgumentError # nor an hour 25
          nil
        end

        private

        def take(word)
          part, pattern = PARTS.find { |name, candidate| !@found.key?(name) && candidate.match?(word) }
          @found[part] = pattern.match(word).captures if part
        end

        def year
          number = @found[:year].first.to_i
          case number
          when 70..99 then number + 1900
          when 0..69 then number + 2000
          else number
          end
        end

        def month = MONTHS.index(@found[:month].first.downcase) + 1

        # Ruby's Time knows 24:00 and leap seconds.
        def clock
          @found[:time].map(&:to_i).tap do |hour, minute, second|
            raise ArgumentError, "no time" if hour > 23 || minute > 59 || second > 59
          end
        end
      end

      # One cookie as it is kept (RFC 6265 §5.3).
      # @!attribute name [String]
      # @!attribute value [String]
      # @!attribute domain [String] in lower case, without a dot before it
      # @!attribute path [String]
      # @!attribute expires [Time, nil] nil: with the session
      # @!attribute secure [Boolean] by TLS only
      # @!attribute http_only [Boolean] kept for programs that read the file
      # @!attribute host_only [Boolean] not for the names below its domain
      # @!attribute created [Integer] the order in which they came
      Cookie = Struct.new(:name, :value, :domain, :path, :expires, :secure, :http_only, :host_only, :created,
                          keyword_init: true) do
        # @return [Array<String>] equal for cookies that replace each other
        def key = [domain, path, name, host_only]

        # @return [String] "name=value"
        def pair = "#{name}=#{value}"

        # @return [Boolean] whether it is sent there (§5.4, step 1)
        def for?(url)
          return false if secure && url.scheme != :https

          (host_only ? url.host == domain : Matching.domain?(url.host, domain)) && Matching.path?(url.path, path)
        end

        def expired?(moment) = !expires.nil? && expires <= moment

        def inspect = "#<#{self.class} #{name}=… for #{domain}#{path}>"
      end

      # Hosts and domains as RFC 6265 compares them, in lower case, and paths.
      module Matching
        ADDRESS = /\A(?:\d{1,3}(?:\.\d{1,3}){3}|.*:.*)\z/m

        module_function

        # §5.1.3
        # @return [Boolean] whether the host is the domain, or a name below it
        def domain?(host, domain) = host == domain || (host.end_with?(".#{domain}") && !address?(host))

        # @return [Boolean] whether it is no name, so that nothing can be below it
        def address?(host) = ADDRESS.match?(host)

        # §5.1.4
        # @return [Boolean] whether the requested path is the path, or below it
        def path?(asked, path) = asked == path || (asked.start_with?(path) && (path.end_with?("/") || asked[path.size] == "/"))
      end

      # The value of one Set-Cookie, read as servers write it (RFC 6265 §5.2), without its unknown and malformed parts.
      class SetCookie
        # Bytes of a name and its value, and of an attribute's value (RFC 6265bis §5.6).
        LARGEST = 4096
        LARGEST_ATTRIBUTE = 1024
        # A TAB is white space (§5.2): with a space, all there is left of it for `strip` to take.
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        # Seconds for which a cookie is kept (RFC 6265bis §5.5).
        LONGEST = 400 * 86_400

        # @return [SetCookie, nil] nil when there is no cookie in it
        def self.parse(text)
          text = text.b
          return if CONTROL.match?(text)

          pair, *attributes = text.split(";", -1)
          name, value = pair.to_s.split("=", 2).map(&:strip)
          new(name, value, attributes) if value && name?(name) && name.bytesize + value.bytesize <= LARGEST
        end

        def self.name?(name) = !name.empty? && !name.include?("\t")

        def initialize(name, value, attributes)
          @name = name
          @value = value
          @attributes = attributes.to_h { |attribute| split(attribute) } # the last one of a name wins
        end

        # @param url [URL] of the request
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
      private_constant :Date, :Cookie, :Matching, :SetCookie
    end
  end
end
