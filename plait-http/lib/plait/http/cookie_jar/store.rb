# frozen_string_literal: true

require_relative "matching"

module Plait
  module HTTP
    class CookieJar
      # The cookies of a jar, found by domain: no request looks at all of them. The jar has the lock.
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

        # @return [void]
        def clear
          @domains = {} # domain => {key => cookie}, the least recently used first
          @secure = {} # name => {cookie => true}
          @used = {}.compare_by_identity # all, the least recently used first
          @earliest = nil # no cookie expires before
        end

        # @return [Integer]
        def size = @used.size

        # @return [Array<Cookie>] in the order in which they came
        def to_a = @used.keys.sort_by(&:created)

        # @param key [Array] see {Cookie#key}
        # @return [Cookie, nil]
        def find(key) = @domains.fetch(key.first, NONE)[key]

        # @param host [String]
        # @return [Array<Cookie>] of the host and of the domains above it
        def near(host) = above(host).flat_map { |domain| @domains.fetch(domain, NONE).values }

        # @param name [String]
        # @return [Array<Cookie>] of all domains
        def secure(name) = @secure.fetch(name, NONE).keys

        # In place of the one with the same key.
        # @param now [Time]
        # @return [void]
        def put(cookie, now)
          old = find(cookie.key)
          remove(old) if old
          add(cookie)
          trim(cookie.domain, now)
        end

        # @return [void]
        def use(cookie)
          @used.delete(cookie)
          @used[cookie] = true
          own = @domains[cookie.domain]
          own.delete(cookie.key)
          own[cookie.key] = cookie
        end

        # @return [void]
        def remove(cookie)
          @used.delete(cookie)
          take_out(@domains, cookie.domain, cookie.key)
          take_out(@secure, cookie.name, cookie) if cookie.secure
        end

        # @param now [Time]
        # @return [void]
        def drop_expired(now)
          return if @earliest.nil? || @earliest > now

          expired, rest = @used.keys.partition { |cookie| cookie.expired?(now) }
          expired.each { |cookie| remove(cookie) }
          @earliest = rest.filter_map(&:expires).min
        end

        private

        def above(host)
          return [host] if Matching.address?(host)

          [host].tap { |domains| domains << domains.last.partition(".").last while domains.last.include?(".") }
        end

        def add(cookie)
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
    end
  end
end
