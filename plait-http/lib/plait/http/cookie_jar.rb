# frozen_string_literal: true

require_relative "cookie_jar/cookie"
require_relative "cookie_jar/file_format"
require_relative "cookie_jar/matching"
require_relative "cookie_jar/set_cookie"
require_relative "cookie_jar/store"
require_relative "url"
require "plait/values/errors"

module Plait
  module HTTP
    # Keeps cookies as a user agent does (RFC 6265 §5), for threads and fibers together.
    #
    # @example
    #   jar = CookieJar.new
    #   jar.add("https://example.org/login", response.headers.get_all("set-cookie"))
    #   jar.header_for("https://www.example.org/")   # => "session=31d4d96e; lang=en"
    #
    # It knows no list of public suffixes: a cookie for "com" is refused, one for "co.uk" is not, unless `public_suffix:`
    # says what is one, as `->(domain) { PublicSuffix.domain(domain).nil? }` of the gem public_suffix does.
    class CookieJar
      # Cookies of a domain; §6.1 asks for 50 at least.
      PER_DOMAIN = 180
      # Cookies of all together, as §6.1 asks for.
      TOTAL = 3_000

      # @param public_suffix [#call, nil] a domain (String, lower case) => whether anybody may register names under it
      # @param clock [#now]
      def initialize(public_suffix: nil, clock: Time)
        @public_suffix = public_suffix || ->(domain) { !domain.include?(".") }
        @clock = clock
        @lock = Mutex.new
        @store = Store.new(PER_DOMAIN, TOTAL)
        @created = 0
      end

      # Takes what a response sets (§5.3). What is malformed, too large or not for this host to set is left out, as user
      # agents do; no error is raised for what a server sends.
      # @param url [String, URL] what was asked for
      # @param set_cookies [String, Array<String>] the values of Set-Cookie
      # @return [self]
      def add(url, set_cookies)
        url = URL.parse(url)
        cookies = Array(set_cookies).filter_map { |text| SetCookie.parse(text)&.cookie(url, @public_suffix, @clock.now) }
        @lock.synchronize { cookies.each { |cookie| keep(cookie, url) } }
        self
      end

      # §5.4: longer paths first, then who was there first.
      # @param url [String, URL]
      # @return [String, nil] the value of Cookie; nil when there is none
      def header_for(url)
        url = URL.parse(url)
        found = @lock.synchronize { fitting(url).each { |cookie| @store.use(cookie) } }
        return if found.empty?

        found.sort_by { |cookie| [-cookie.path.bytesize, cookie.created] }.map(&:pair).join("; ")
      end

      # @yieldparam cookie [Cookie]
      # @return [self, Enumerator]
      def each(&block)
        return enum_for(:each) unless block

        @lock.synchronize { live }.each(&block)
        self
      end
      include Enumerable

      # @return [Integer]
      def size = @lock.synchronize { live.size }

      # @return [Boolean]
      def empty? = size.zero?

      # @return [self]
      def clear
        @lock.synchronize { @store.clear }
        self
      end

      # Writes the file of Netscape's format that curl and browsers' tools read. Its owner alone can read it; it is there
      # whole, or the old one is.
      # @param path [String]
      # @param session [Boolean] also those that end with the session
      # @return [self]
      # @raise [SystemCallError]
      def save(path, session: false)
        FileFormat.write(path, each.select { |cookie| session || cookie.expires })
        self
      end

      # Adds what was saved.
      # @param path [String]
      # @return [self]
      # @raise [UsageError] for a line that is no cookie
      # @raise [SystemCallError]
      def load(path)
        cookies = FileFormat.read(path)
        @lock.synchronize { cookies.each { |cookie| keep_as(tick, cookie) } }
        self
      end

      # @return [String]
      def inspect = "#<#{self.class} #{size} cookies>"

      private

      def now = @clock.now

      # The order of what happens in one moment too.
      def tick = @created += 1

      def fitting(url)
        moment = now
        @store.near(url.host).select { |cookie| cookie.for?(url) && !cookie.expired?(moment) }
      end

      def keep(cookie, url)
        old = @store.find(cookie.key)
        return if shields?(cookie, url)
        return keep_as(old&.created || tick, cookie) unless cookie.expired?(now) # §5.3, step 11

        @store.remove(old) if old
      end

      def keep_as(created, cookie)
        cookie.created = created
        @store.put(cookie.freeze, now)
      end

      # An answer that anybody on the way could have written doesn't replace what came by TLS (RFC 6265bis §5.7, step 10).
      def shields?(cookie, url)
        moment = now
        url.scheme != :https && @store.secure(cookie.name).any? do |other|
          !other.expired?(moment) && Matching.path?(cookie.path, other.path) &&
            (Matching.domain?(other.domain, cookie.domain) || Matching.domain?(cookie.domain, other.domain))
        end
      end

      def live
        @store.drop_expired(now)
        @store.to_a
      end
    end
  end
end
