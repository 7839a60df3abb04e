# frozen_string_literal: true

require_relative "explanation"
require_relative "port"
require_relative "worker"
require_relative "../executor"
require_relative "../mechanism"
require_relative "../options"
require_relative "../processes/portable_error"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Up to `limit` ractors, each started when an item finds none idle.
      #
      # Only a thread of its own waits for the ractors; the caller waits at a queue, so that Ctrl-C, Thread#raise and
      # timeouts reach it, and a fiber of an event loop gives way.
      class Pool < Executor
        # Seconds that cancelled blocks have for their `ensure` parts.
        GRACE = 2.0
        # Seconds that Ruby has to remove a ractor whose block is over.
        REMOVAL = 1.0
        ENOUGH = Object.new.freeze

        # @param body [Body]
        # @param policy [Options]
        # @param limit [Integer]
        def initialize(body, policy, limit)
          super()
          @body = body
          @policy = Options.new(timeout: policy.timeout, deadline: policy.deadline, retries: policy.retries)
          @limit = limit
          @pending = 0
          @hired = 0
          @live = {}
          @idle = []
          @ended = []
          @news = Thread::Queue.new
          @port = Port.open
          @courier = Thread.new { carry }
        end

        def room? = @pending < @limit

        # @param arguments [Array] for the block
        # @raise [UnshareableError] if `retries:` can't be copied
        def submit(index, item, arguments = [item])
          worker = @idle.pop || hire
          @pending += 1
          worker.job = [index, item]
          give(worker, arguments)
        end

        def ready? = !@news.empty?

        def take
          outcome = digest(@news.pop) until outcome
          outcome
        end

        # @return [Array<Outcome>] what was not taken, and what could not be stopped
        def cancel
          @stopping = true
          @live.each_value(&:stop)
          outcomes = await_end
          outcomes + abandon
        end

        def close
          cancel
          @port.wake
          @courier.join
          @port.close
          await_removal
        end

        private

        # In the courier's thread.
        def carry
          while (news = @port.receive)
            @news << news
          end
        rescue StandardError => e
          @news << e
        end

        # Known to the pool before it starts, so that an interrupt in between leaves nothing behind.
        def hire
          worker = @live[@hired] = Worker.new(@hired)
          @hired += 1
          worker.start(@body, @policy, @port)
          worker
        rescue TypeError, ::Ractor::Error => e
          @live.delete(worker.number)
          raise Explanation.of_policy(e)
        end

        def give(worker, arguments)
          worker.give(worker.job.first, arguments)
        rescue StandardError => e
          index, item = worker.job
          error = Explanation.of_item(item, index, e)
          @news << [worker.number, Outcome.new(index: index, item: item, error: error, attempts: 0)]
        end

        # @return [Outcome, nil]
        def digest(news)
          raise news if news.is_a?(Exception)
          return if news.equal?(ENOUGH)

          number, report = news
          worker = @live[number] or return
          outcome = report ? outcome_of(worker, report) : farewell(worker)
          @pending -= 1 if outcome
          outcome
        end

        def outcome_of(worker, report)
          @idle << worker
          index, item = worker.job
          worker.job = nil
          return report if report.is_a?(Outcome)

          _, value, error, attempts, started_at, finished_at = report
          error &&= Explanation.of_error(Processes::PortableError.load(error), index)
          Outcome.new(index: index, item: item, value: value, error: error, attempts: attempts,
                      started_at: started_at, finished_at: finished_at, worker: worker.number)
        end

        def farewell(worker)
          @live.delete(worker.number)
          worker.stop
          @ended << worker
          failure(worker, WorkerDied.new(died(worker))) if worker.job && !@stopping
        end

        def died(worker)
          "the ractor ended before it answered for item #{worker.job.first}: its block ended the thread it ran in " \
            "(Thread.exit, Thread#kill); `next` returns early from a block"
        end

        def failure(worker, error)
          index, item = worker.job
          Outcome.new(index: index, item: item, error: error, worker: worker.number)
        end

        def await_end
          timer = Thread.new { sleep(GRACE) && @news.push(ENOUGH) } unless @live.empty?
          outcomes = []
          until @live.empty? && @news.empty?
            news = @news.pop
            break if news.equal?(ENOUGH)

            outcomes << digest(news)
          end
          outcomes.compact
        ensure
          timer&.kill&.join
        end

        # Ruby has no way to end a ractor that doesn't listen.
        def abandon
          left = @live.values
          @live.clear
          left.select(&:job).map { |worker| failure(worker, CancelledError.new(unstoppable(worker))) }
        end

        def unstoppable(worker)
          "item #{worker.job.first} still runs: its block doesn't react to being cancelled, and Ruby can't end a ractor " \
            "from outside. It was left behind after #{GRACE} s, and this process won't exit before it ends"
        end

        def await_removal
          limit = Deadline.after(REMOVAL)
          sleep(0.0002) until @ended.all?(&:over?) || limit.expired?
        end
      end
    end
  end
end
