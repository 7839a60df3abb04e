# frozen_string_literal: true

require "socket"
require "plait/values/deadline"

module Plait
  module Io
    class Resolver
      # One getaddrinfo(3) on a thread of its own, for all who ask for the same at the same time: a name server that
      # doesn't answer then holds one thread a name, however often somebody gives up and asks again, and never more than
      # {MOST}. The thread ends with the call, which Ruby before 3.3 can't break off.
      class Lookup
        # Threads at once.
        MOST = 256
        # Seconds after which who waits for one of them looks by himself: a wake-up is lost with who is killed when he gets it.
        PATIENCE = 0.1
        @running = {}
        @lock = Mutex.new
        @freed = ConditionVariable.new

        class << self
          # @param deadline [Deadline, nil]
          # @return [Lookup, nil] the one under way, or a new one; nil when there was no thread for it by then
          def join(host, port, deadline = nil)
            key = [Process.pid, host, port]
            @lock.synchronize do
              until @running.key?(key) || room?
                return if deadline&.expired?

                @freed.wait(@lock, [deadline&.remaining, PATIENCE].compact.min)
              end
              @running[key] ||= new(host, port) { forget(key) }
            end
          end

          # @return [Array<Addrinfo>]
          def call(host, port) = Addrinfo.getaddrinfo(host, port, nil, :STREAM)

          private

          # A fork has its parent's entries and none of its threads.
          def room?
            return true if @running.size < MOST

            @running.delete_if { |(pid, _), _| pid != Process.pid }
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

        # @param deadline [Deadline, nil]
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
