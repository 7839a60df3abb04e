# frozen_string_literal: true

require "socket"
require_relative "resolver/cache"
require_relative "resolver/lookup"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Io
    # The addresses of a name, as getaddrinfo(3) gives them (hosts file, mDNS and all), within a deadline: in a fiber by
    # its scheduler's `address_resolve`, elsewhere on a thread, since the call itself can't be given a time.
    class Resolver
      # Raised in the block of a scheduler's timeout; nobody else sees it.
      class Expired < StandardError; end
      private_constant :Expired

      # @param cache [Numeric] seconds for which an address that was found is used again; 0: never. getaddrinfo(3) does
      #   not tell how long it is valid.
      # @param size [Integer] names that are kept
      def initialize(cache: 0, size: 256)
        @cache = cache.positive? ? Cache.new(cache, size) : nil
      end

      # @param host [String] a name or an address
      # @param port [Integer]
      # @param deadline [Deadline, nil]
      # @return [Array<Addrinfo>] at least one, in the order in which RFC 6724 tries them
      # @raise [ResolveError] when it has none
      # @raise [ConnectTimeout] of phase :resolve
      def resolve(host, port, deadline: nil)
        return look_up(host, port, deadline) unless @cache

        @cache.fetch([host, port]) { look_up(host, port, deadline) }
      end

      private

      def look_up(host, port, deadline)
        addresses = ask(host, port, deadline)
        raise ResolveError.new("#{host} has no address", endpoint: "#{host}:#{port}") if addresses.empty?

        addresses
      rescue SocketError => e
        raise ResolveError.new("can't resolve #{host}: #{e.message.delete_prefix("getaddrinfo: ")}",
                               endpoint: "#{host}:#{port}", causes: [e])
      end

      def ask(host, port, deadline)
        scheduler = Fiber.current_scheduler if Fiber.respond_to?(:current_scheduler)
        return Lookup.call(host, port) unless deadline || scheduler
        return hooked(scheduler, host, port, deadline) if scheduler.respond_to?(:address_resolve)

        Lookup.join(host, port, deadline)&.wait(deadline) || expired(host, port)
      end

      def hooked(scheduler, host, port, deadline)
        return Lookup.call(host, port) unless deadline

        scheduler.timeout_after(deadline.remaining, Expired, "") { Lookup.call(host, port) }
      rescue Expired
        expired(host, port)
      end

      def expired(host, port)
        raise ConnectTimeout.new("the address of #{host} was not found in time: the name server is slow or unreachable",
                                 endpoint: "#{host}:#{port}", phase: :resolve)
      end
    end
  end
end
