# frozen_string_literal: true

require_relative "body"
require_relative "worker_loop"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The ractors of a pool: up to `limit`, each started when an item finds none idle.
      class Workers
        # Seconds that Ruby has to remove a ractor whose block is over.
        REMOVAL = 1.0

        # @return [Integer] ractors at most; fewer than asked for where the system gives no more
        attr_reader :limit

        def initialize(body, policy, port, limit)
          @body = body
          @policy = policy
          @port = port
          @limit = limit
          @hired = 0
          @live = {}
          @ended = []
        end

        def [](number) = @live[number]

        def size = @live.size

        def empty? = @live.empty?

        # @param ahead [Integer] items that may wait at each
        # @return [Worker, nil] the one that gets the next item
        # @raise [UnsupportedError] when there is none, and the system gives none
        def find(ahead)
          free = open.min_by { |worker| worker.jobs.size }
          return free if free&.idle?

          (hire if size < @limit) || (free if free && free.jobs.size <= ahead)
        end

        # Gives idle ractors items that wait at others.
        def balance
          return if @live.each_value.none? { |worker| worker.jobs.size > 1 }

          open.select(&:idle?).each do |idle|
            busiest = open.max_by { |worker| worker.jobs.size }
            job = busiest.take_back if busiest.jobs.size > 1
            yield idle, job if job
          end
        end

        # @return [void] after its end
        def dismiss(worker)
          @live.delete(worker.number)
          worker.stop
          @ended << worker
        end

        # Asks all to end; does not wait.
        def stop = @live.each_value(&:stop)

        # @return [Array<Worker>] ractors that have not ended; the pool no longer waits for them
        def abandon = @live.values.tap { @live.clear }

        # Goes on with the ractors there are.
        # @param error [Exception] why there are no more
        # @raise [UnsupportedError] when there are none
        def do_without(error)
          raise Explanation.of_refusal(error) if @live.empty?

          @limit = @live.size
          nil
        end

        def await_removal
          limit = Deadline.after(REMOVAL)
          sleep(0.0002) until @ended.all?(&:over?) || limit.expired?
        end

        private

        def open = @live.each_value.reject(&:closed?)

        # Known to the pool before it starts, so that an interrupt in between leaves nothing behind.
        def hire
          worker = @live[@hired] = Worker.new(@hired)
          @hired += 1
          worker.tap { worker.start(@body, @policy, @port) }
        rescue TypeError, ::Ractor::Error => e
          discard(worker)
          raise Explanation.of_policy(e)
        rescue ThreadError, SystemCallError => e
          discard(worker)
          do_without(e)
        end

        def discard(worker)
          @live.delete(worker&.number)
          worker&.stop
        end
      end

      # One ractor of a pool, seen from the main one.
      class Worker
        # @return [Integer] from 0
        attr_reader :number
        # @return [Array<Job>] its running job, and waiting ones behind it
        attr_reader :jobs

        def initialize(number)
          @number = number
          @jobs = []
          @tickets = Tickets.new
          @far_lifeline, @lifeline = IO.pipe
        end

        # @raise [Ractor::Error, TypeError] if the policy can't be copied
        # @raise [ThreadError] when the system gives no thread
        def start(body, policy, port)
          @ractor = Quiet.start do
            pipes = [@far_lifeline, @tickets.address]
            ::Ractor.new(@number, body, policy, pipes, port.address) { |*all| WorkerLoop.new(*all).run }
          end
          port.attach(@number, @ractor)
        ensure
          @far_lifeline.close # Ractor.new has made a copy of it
        end

        def idle? = @jobs.empty?

        # @return [Boolean] whether it has ended: messages to it go nowhere
        def closed? = @closed

        # @return [Boolean] false when it is {#closed?}
        # @raise [StandardError] if an argument can't be copied
        def give(job)
          job.ticket = @tickets.issue
          @jobs << job # first: an answer finds its job even if this is interrupted
          @ractor.send([job.ticket, job.index, job.arguments, job.made])
          true
        rescue ::Ractor::ClosedError
          @jobs.delete(job)
          @closed = true
          false
        rescue StandardError
          @jobs.delete(job)
          raise
        end

        # @param index [Integer] of the item that it has answered
        def finish(index)
          job = @jobs.find { |given| given.index == index }
          @jobs.delete(job)
        end

        # @return [Job, nil] the oldest that it has not started; it never does
        def take_back
          while (ticket = @tickets.take)
            job = @jobs.find { |waiting| waiting.ticket == ticket } # none: it could not be sent
            return @jobs.delete(job) if job
          end
        end

        # @return [Array<Job>] all that it has not started
        def take_all_back
          jobs = []
          while (job = take_back)
            jobs << job
          end
          jobs
        end

        # Ends the ractor and its job; does not wait. An idle one ends by the empty job.
        def stop
          return if @lifeline.closed?

          @ractor&.send(nil)
          @lifeline.write_nonblock(".") # closing may say nothing: a forked child has this end too
        rescue Errno::EPIPE, ::Ractor::ClosedError
          nil
        ensure
          @lifeline.close
          @tickets.close
        end

        # @return [Boolean] whether Ruby has removed the ractor
        def over? = @ractor.nil? || @ractor.inspect.end_with?("terminated>")
      end
    end
  end
end
