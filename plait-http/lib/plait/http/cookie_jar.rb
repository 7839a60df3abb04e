# frozen_string_literal: true

require "securerandom"
require_relative "cookie_jar/set_cookie"

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
      # The cookies of a jar, found by domain: no request looks at all of them. The jar has the lock.
      # @api private
      class Store
        NONE = {}.freeze
        private_constant :NONE

        # @param per_domain [Integer] cookies of a domain at most
        # @param total [Integer] cookies at most
        def initialize(per_domain, total)
          @per_domain = per_domain
          @total = total
          clear
        end

        def clear
          @domains = {} # domain => {key => cookie}, the least recently used first
          @secure = {} # name => {cookie => true}
          @used = {}.compare_by_identity # all, the least recently used first
          @earliest = nil # no cookie expires before
        end

        def size = @used.size

        # @return [Array<Cookie>] in the order in which they came
        def to_a = @used.keys.sort_by(&:created)

        # @param key [Array] see {Cookie#key}
        def find(key) = @domains.fetch(key.first, NONE)[key]

        # @return [Array<Cookie>] of the host and of the domains above it
        def near(host)
          return @domains.fetch(host, NONE).values if Matching.address?(host)

          above(host).flat_map { |domain| @domains.fetch(domain, NONE).values }
        end

        # @return [Array<Cookie>] of all domains
        def secure(name) = @secure.fetch(name, NONE).keys

        # In place of the one with the same key.
        def put(cookie, now)
          old = find(cookie.key)
          remove(old) if old
          add(cookie)
          trim(cookie.domain, now)
        end

        def use(cookie)
          return if cookie.equal?(@newest)

          @newest = cookie
          @used.delete(cookie)
          @used[cookie] = true
          key = cookie.key
          own = @domains[cookie.domain]
          own.delete(key)
          own[key] = cookie
        end

        def remove(cookie)
          @used.delete(cookie)
          take_out(@domains, cookie.domain, cookie.key)
          take_out(@secure, cookie.name, cookie) if cookie.secure
        end

        def drop_expired(now)
          return if @earliest.nil? || @earliest > now

          expired, rest = @used.keys.partition { |cookie| cookie.expired?(now) }
          expired.each { |cookie| remove(cookie) }
          @earliest = rest.filter_map(&:expires).min
        end

        private

        def above(host)
          [host].tap { |domains| domains << domains.last.partition(".").last while domains.last.include?(".") }
        end

        def add(cookie)
          @newest = nil
          @used[cookie] = true
          (@domains[cookie.domain] ||= {})[cookie.key] = cookie
          (@secure[cookie.name] ||= {}.compare_by_identity)[cookie] = true if cookie.secure
          @earliest = [@earliest, cookie.expires].compact.min
        end

        def take_out(index, name, key)
          index[name].delete(key)
          index.delete(name) if index[name].empty?
        end

        # RFC 6265 §5.3: expired cookies first, then of a domain with too many, then of all, the least recently used one.
        def trim(domain, now)
          own = @domains[domain]
          drop_expired(now) if own.size > @per_domain || size > @total
          remove(own.first.last) if own.size > @per_domain
          remove(@used.first.first) if size > @total
        end
      end

      # Netscape's file of cookies, with the prefix #HttpOnly_ that curl and browsers' tools add: a line a cookie, its fields
      # divided by tabs.
      # @api private
      module FileFormat
        HEADER = "# Netscape HTTP Cookie File\n"
        FIELDS = "domain, TRUE or FALSE, path, TRUE or FALSE, seconds, name, value"
        HTTP_ONLY = "#HttpOnly_"
        private_constant :HEADER, :FIELDS, :HTTP_ONLY

        module_function

        # @raise [SystemCallError]
        def write(path, cookies)
          temporary = "#{path}.#{SecureRandom.hex(6)}"
          File.open(temporary, File::WRONLY | File::CREAT | File::EXCL, 0o600) do |file|
            file.binmode
            file << HEADER
            cookies.each { |cookie| file << line(cookie) }
          end
          File.rename(temporary, path)
        ensure
          File.delete(temporary) if temporary && File.exist?(temporary)
        end

        # @raise [UsageError]
        # @raise [SystemCallError]
        def read(path)
          File.binread(path).each_line(chomp: true).with_index(1).filter_map do |line, number|
            next if line.strip.empty? || (line.start_with?("#") && !line.start_with?(HTTP_ONLY))

            parse(line.delete_suffix("\r")) or raise UsageError, "#{path}:#{number} is no cookie: its fields are #{FIELDS}, " \
                                                                 "divided by tabs"
          end
        end

        def line(cookie)
          domain = "#{HTTP_ONLY if cookie.http_only}#{"." unless cookie.host_only}#{cookie.domain}"
          fields = [domain, flag(!cookie.host_only), cookie.path, flag(cookie.secure), cookie.expires.to_i, cookie.name,
                    cookie.value]
          "#{fields.join("\t")}\n".b
        end

        def parse(line)
          domain, below, path, secure, seconds, name, value = line.delete_prefix(HTTP_ONLY).split("\t", 7)
          return unless value && seconds.match?(/\A\d+\z/) && path.start_with?("/") && [below, secure].all?(/\A(?:TRUE|FALSE)\z/i)

          Cookie.new(name: name, value: value, domain: domain.delete_prefix(".").downcase, path: path,
                     expires: seconds.to_i.zero? ? nil : Time.at(seconds.to_i), secure: secure.casecmp?("TRUE"),
                     http_only: line.start_with?(HTTP_ONLY), host_only: below.casecmp?("FALSE"))
        end

        def flag(truth) = truth ? "TRUE" : "FALSE"
      end
      private_constant :Store, :FileFormat

      # Where a request goes, as far as cookies are concerned: cheaper than a {URL}.
      # @api private
      Place = Struct.new(:scheme, :host, :path)

      # Cookies of a domain; §6.1 asks for 50 at least.
      PER_DOMAIN = 180
      # Cookies of all together, as §6.1 asks for.
      TOTAL = 3_000

      # @param public_suffix [#call, nil] a domain (String, lower case) => whether any person may register names under it
      # @param clock [#now]
      def initialize(public_suffix: nil, clock: Time)
        @public_suffix = public_suffix || ->(domain) { !domain.include?(".") }
        @clock = clock
        @lock = Mutex.new
        @store = Store.new(PER_DOMAIN, TOTAL)
        @created = 0
      end

      # Takes the cookies of a response (§5.3). A cookie that is malformed, too large or not for this host to set is left out,
      # without an error.
      # @param url [String, URL] of the request
      # @param set_cookies [String, Array<String>] the values of Set-Cookie
      # @return [self]
      def add(url, set_cookies)
        url = URL.parse(url)
        cookies = Array(set_cookies).filter_map { |text| SetCookie.parse(text)&.cookie(url, @public_suffix, @clock.now) }
        @lock.synchronize { cookies.each { |cookie| keep(cookie, url) } }
        self
      end

      # §5.4: longer paths first, then older cookies.
      # @param url [String, URL]
      # @return [String, nil] the value of Cookie; nil when there is none
      def header_for(url)
        url = URL.parse(url) unless url.is_a?(Place)
        found = @lock.synchronize { fitting(url).each { |cookie| @store.use(cookie) } }
        return found.first&.pair if found.size < 2

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
      # @param session [Boolean] also cookies that end with the session
      # @return [self]
      # @raise [SystemCallError]
      def save(path, session: false)
        FileFormat.write(path, each.select { |cookie| session || cookie.expires })
        self
      end

      # Adds the cookies of a file.
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

      # It orders the cookies of one moment, too.
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

      # A cookie that came without TLS does not replace one that came by TLS (RFC 6265bis §5.7, step 10).
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
