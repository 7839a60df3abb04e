# frozen_string_literal: true

require "socket"

module Plait
  module Io
    # The addresses of a name, as getaddrinfo(3) gives them (hosts file, mDNS and all), within a deadline: in a fiber by
    # its scheduler's `address_resolve`, elsewhere on a thread, since the call itself can't be given a time.
    class Resolver
      # Raised in the block of a scheduler's timeout; it does not leave this class.
      class Expired < StandardError; end

      # @param host [String] a name or an address
      # @return [Array<Addrinfo>] at least one, in the order in which RFC 6724 tries them
      # @raise [ResolveError] when it has none
      # @raise [ConnectTimeout] of phase :resolve
      def resolve(host, port, deadline: nil)
        addresses = ask(host, port, deadline)
        raise ResolveError.new("#{host} has no address", endpoint: "#{host}:#{port}") if addresses.empty?

        addresses
      rescue SocketError => e
        raise ResolveError.new("can't resolve #{host}: #{e.message.delete_prefix("getaddrinfo: ")}",
                               endpoint: "#{host}:#{port}", causes: [e])
      end

      private

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

      # One getaddrinfo(3) on a thread of its own, for all calls that ask for the same at the same time: a name server that
      # doesn't answer then holds one thread a name, however often callers give up and ask again, and never more than
      # {MOST}. The thread ends with the call, which Ruby before 3.3 can't break off.
      class Lookup
        # Threads at once.
        MOST = 256
        # Seconds between two looks of a waiting caller: a killed caller may have taken the wake-up with it.
        PATIENCE = 0.1
        @running = {}
        @lock = Mutex.new
        @freed = ConditionVariable.new

        class << self
          # @return [Lookup, nil] the one under way, or a new one; nil when there was no thread for it by then
          def join(host, port, deadline = nil)
            key = [Native.fork_generation, host, port]
            @lock.synchronize do
              until @running.key?(key) || room?
                return if deadline&.expired?

                @freed.wait(@lock, [deadline&.remaining, PATIENCE].compact.min)
              end
              @running[key] ||= new(host, port) { forget(key) }
            end
          end

          def call(host, port) = Addrinfo.getaddrinfo(host, port, nil, :STREAM)

          private

          # A fork has its parent's entries and none of its threads.
          def room?
            return true if @running.size < MOST

            @running.delete_if { |(generation, _), _| generation != Native.fork_generation }
            @running.size < MOST
          end

          def forget(key)
            @lock.synchronize do
              @running.delete(key)
              @freed.signal
            end
          end
        end

        # @yield when it is over
        def initialize(host, port, &over)
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @thread = Thread.new { run(host, port, over) }
          @thread.name = "plait resolver"
          @thread.report_on_exception = false
        end

        # @return [Array<Addrinfo>, nil] nil when it is not over by then
        # @raise [SocketError]
        def wait(deadline)
          @lock.synchronize do
            @changed.wait(@lock, deadline&.remaining) until @over || deadline&.expired?
            raise @error if @error

            @addresses
          end
        end

        private

        def run(host, port, over)
          addresses = Lookup.call(host, port)
        rescue StandardError => e
          error = e
        ensure
          over.call
          finish(addresses, error || (addresses ? nil : SocketError.new("the lookup was killed")))
        end

        def finish(addresses, error)
          @lock.synchronize do
            @addresses = addresses
            @error = error
            @over = true
            @changed.broadcast
          end
        end
      end
    end
  end
end
