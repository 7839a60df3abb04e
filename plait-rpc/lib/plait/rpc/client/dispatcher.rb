# frozen_string_literal: true

module Plait
  module RPC
    class Client
      # Threads that run the peer's requests, the oldest first: as many as there is work for.
      class WorkerPool
        # Seconds for which a thread waits for work; raising it keeps idle threads longer.
        LINGER = 1

        # @param name [String] of its threads
        # @param limit [Integer] threads that work at once
        # @param room [Integer] requests that may wait
        # @yieldparam incoming [Incoming] to be run
        def initialize(name, limit:, room:, &run)
          @name = name
          @limit = limit
          @room = room
          @run = run
          @lock = Lock.new
          @queue = []
          @sleepers = []
          @members = {}.compare_by_identity # fibers that work
          @size = 0
        end

        # @return [Boolean] false: too many wait
        def push(incoming)
          @lock.exclusively do
            next false if @queue.size >= @room

            @queue << incoming
            engage_for_queue
            true
          end
        end

        # Runs the block, which waits for the peer's answer: meanwhile another thread may take this one's place.
        # @return [Object] the block's value
        def aside
          return yield unless @lock.exclusively { @members.key?(Fiber.current) }

          grow(1)
          begin
            yield
          ensure
            grow(-1)
          end
        end

        # Its threads end when all requests are run.
        # @param forget [Boolean] whether waiting requests are dropped
        def close(forget:)
          @lock.exclusively do
            @closed = true
            @queue.clear if forget
            @sleepers.each(&:call).clear
          end
        end

        private

        def grow(number)
          @lock.exclusively do
            @limit += number
            engage_for_queue
          end
        end

        # Under the lock: a thread comes for the waiting requests.
        def engage_for_queue
          return if @queue.empty?
          return @sleepers.pop.call if @sleepers.any?

          engage if @size < @limit
        end

        def engage
          @size += 1
          Thread.new { at_work { work } }.name = @name
        rescue ThreadError # the system gives no further thread: the others do the work
          @size -= 1
          raise if @size.zero?
        end

        # The thread that started this one holds interrupts back; methods don't.
        def at_work(&work)
          @lock.exclusively { @members[Fiber.current] = true }
          Thread.handle_interrupt(Object => :immediate, &work)
        ensure
          retire
        end

        def retire
          @lock.exclusively do
            @members.delete(Fiber.current)
            @size -= 1
            engage_for_queue
          end
        rescue ThreadError
          nil # the process ends
        end

        def work
          while (incoming = next_one)
            @run.call(incoming)
          end
        end

        # @return [Incoming, nil] nil: it leaves
        def next_one
          sleeper = nil
          incoming = @lock.exclusively { @queue.shift || ((sleeper = lie_down) && nil) unless @size > @limit }
          sleeper ? rest(sleeper) : incoming
        end

        def lie_down = @closed ? nil : Lock::Sleeper.new.lie_down.tap { |sleeper| @sleepers << sleeper }

        def rest(sleeper)
          @lock.sleep(sleeper, LINGER)
          @lock.exclusively { @queue.shift }
        ensure
          @lock.exclusively { @sleepers.delete(sleeper) }
        end
      end

      # Runs the requests of one connection's peer, or refuses them. Requests run side by side, notifications one after another,
      # because their order matters.
      class Dispatcher
        # Requests that run at once, without requests that wait for an answer of the peer themselves.
        LIMIT = 32
        # Requests that wait; further ones are refused.
        QUEUE = 1024
        # Notifications that wait. None may be lost, and none has an answer: with more of them the connection is closed.
        NEWS = 64 * 1024

        def initialize(handler)
          @handler = handler
          @lock = Lock.new
          @requests = WorkerPool.new("plait: answers a server", limit: LIMIT, room: QUEUE) { |incoming| run(incoming) }
          @news = WorkerPool.new("plait: hears a server", limit: 1, room: NEWS) { |incoming| run(incoming) }
        end

        def take(incoming)
          incoming.dispatcher = self
          return if (incoming.notification? ? @news : @requests).push(incoming)
          return incoming.fail(Refusal.new(:busy, "#{QUEUE} requests wait already")) unless incoming.notification?

          incoming.connection.close("has brought #{NEWS} notifications that wait to be run")
        end

        # @return [Boolean] whether this is its first answer
        def settle(incoming) = @lock.exclusively { !incoming.answered? && incoming.answered! }

        def tell(error) = @handler.tell(error)

        # The connection is over: its requests are dropped, its notifications run.
        def closed(_connection, error)
          @requests.close(forget: true)
          @news.close(forget: false)
          @handler.report(error) if error.is_a?(RemoteProtocolError)
        end

        # A method waits for the peer's answer.
        # @return [Object] the block's value
        def aside(_connection, &wait) = @requests.aside(&wait)

        private

        # (The caller has the exception of its method.)
        def run(incoming)
          Thread.current[:plait_rpc_incoming] = incoming
          @handler.run(incoming, @handler.find(incoming.method_name))
        rescue Exception # rubocop:disable Lint/RescueException
          nil
        ensure
          Thread.current[:plait_rpc_incoming] = nil
          @handler.forget
        end
      end
      private_constant :WorkerPool, :Dispatcher
    end
  end
end
