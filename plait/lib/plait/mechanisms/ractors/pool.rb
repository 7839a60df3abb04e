# frozen_string_literal: true

require_relative "../pace"
require_relative "port"
require_relative "worker"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The items of one run, on their way to ractors and back.
      #
      # Only a thread of its own waits for the ractors; the caller waits at a queue, so that Ctrl-C, Thread#raise and
      # timeouts reach it, and a fiber of an event loop gives way.
      #
      # Items that take little wait at the ractors, so that none is idle while its result goes one way and its next item the
      # other (0.25 ms). An idle one gets items that wait at others.
      class Pool < Executor
        # Seconds that cancelled blocks have for their `ensure` parts.
        GRACE = 2.0
        # Items that wait at a ractor at most.
        AHEAD = 4
        # Seconds between two looks at whether the ractors have ended.
        FIRST_PAUSE = 0.0001
        LONGEST_PAUSE = 0.005
        # Seconds for the receiver thread to end by itself. On Ruby 3.4 a Ractor#take sleeps on if Ruby has forgotten the
        # ractor: one whose block starts threads, see {Ractors}.
        FAREWELL = 0.5

        # @raise [UnsupportedError] when the system gives no descriptors or threads
        def initialize(body, policy, limit)
          super()
          @policy = Options.new(timeout: policy.timeout, deadline: policy.deadline, retries: policy.retries)
          @port = Port.open
          @workers = Workers.new(body, @policy, @port, limit)
          @pace = Pace.new(limit)
          @pending = 0
          @backlog = []
          @ready = []
          @news = Thread::Queue.new
          @receiver = Thread.new { Thread.handle_interrupt(Object => :immediate) { carry } } # the caller may mask interrupts
        rescue ThreadError, SystemCallError => e
          @port&.close
          raise Explanation.of_refusal(e)
        end

        def room? = @pending < @workers.limit + (ahead * @workers.size)

        # @param arguments [Array] for the block
        # @raise [UnshareableError] if `retries:` can't be copied
        # @raise [UnsupportedError] when the system gives no ractor
        def submit(index, item, arguments = [item])
          @pending += 1
          @backlog << Job.new(index, item, arguments)
          dispatch
        end

        def ready? = !@ready.empty? || !@news.empty?

        def take
          outcome = @ready.shift || digest(@news.pop) until outcome
          @pending -= 1
          outcome
        end

        # @return [Array<Outcome>] not taken, or not to be stopped
        def cancel
          @stopping = true
          @backlog.clear
          @workers.stop
          outcomes = await_end
          outcomes + abandon
        end

        def close
          return @workers.await_removal if @closed

          cancel
          @port.wake
          @receiver.join(FAREWELL) || @receiver.kill.join
          @closed = true
          @port.close
          @workers.await_removal
        end

        # (It has a copy of the block.)
        def remains = method(:close)

        private

        def ahead = [@pace.ahead, AHEAD].min

        # In the receiver thread.
        def carry
          while (news = @port.receive)
            @news << news
          end
        rescue StandardError => e
          @news << e
        end

        def dispatch
          return if @stopping

          until @backlog.empty?
            worker = @workers.find(ahead) or return
            give(worker, @backlog.shift)
          end
          @workers.balance { |idle, job| give(idle, job) }
        end

        def give(worker, job)
          @backlog.unshift(job) unless worker.give(job)
        rescue StandardError => e
          error = Explanation.of_item(job.item, job.index, e)
          @ready << Outcome.new(index: job.index, item: job.item, error: error, attempts: job.made)
        end

        def digest(news)
          raise news if news.is_a?(Exception)

          number, report = news
          worker = @workers[number] or return
          outcome = report.is_a?(Array) ? settle(worker, report) : give_up(worker, report)
          dispatch
          outcome
        end

        def settle(worker, report)
          index, value, error, attempts, started_at, finished_at = report
          job = worker.finish(index) or return
          @pace.record(finished_at - started_at, 1)
          error &&= Explanation.of_error(Portable::Error.load(error), index)
          Outcome.new(index: index, item: job.item, value: value, error: error, attempts: attempts,
                      started_at: started_at, finished_at: finished_at, worker: worker.number)
        end

        # @param attempts [Integer, nil] see {Port}
        def give_up(worker, attempts)
          waiting = worker.take_all_back unless @stopping
          @workers.dismiss(worker)
          return if @stopping

          @backlog.unshift(*waiting)
          return @workers.do_without(ThreadError.new("it got no thread")) if attempts == Port::NO_THREADS

          job = worker.jobs.first
          lose(job, worker, attempts) if job
        end

        def lose(job, worker, attempts)
          job.made = attempts || (job.made + 1)
          error = WorkerDied.new(died(job))
          return failure(job, worker, error) unless @policy.again?(error, job.made)

          @backlog.unshift(job)
          @workers.balance { |idle, job| give(idle, job) }
        end

        def died(job)
          "the ractor ended before it answered for item #{job.index}: its block ended the thread it ran in " \
            "(Thread.exit, Thread#kill); `next` returns early from a block"
        end

        def failure(job, worker, error)
          Outcome.new(index: job.index, item: job.item, error: error, attempts: [job.made, 1].max, worker: worker.number)
        end

        def await_end
          limit = Deadline.after(GRACE)
          outcomes = @ready.slice!(0..)
          outcomes << digest(@news.pop) while news_before?(limit)
          outcomes.compact
        end

        # Not by a thread for the time limit: the system may have none to give.
        def news_before?(limit)
          pause = FIRST_PAUSE
          until @workers.empty? || !@news.empty? || limit.expired?
            sleep(pause)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
          !@news.empty?
        end

        # Ruby has no way to end a ractor that doesn't listen.
        def abandon
          @workers.abandon.reject(&:idle?).map do |worker|
            job = worker.jobs.first
            failure(job, worker, CancelledError.new(unstoppable(job)))
          end
        end

        def unstoppable(job)
          "item #{job.index} still runs: its block doesn't react to being cancelled, and Ruby can't end a ractor " \
            "from outside. It was left behind after #{GRACE} s, and this process won't exit before it ends"
        end
      end

      # An item that was submitted and has not been answered for.
      class Job
        attr_reader :index, :item
        # @return [Array] for the block
        attr_reader :arguments
        # @return [Integer] attempts that ended with the death of their ractor
        attr_accessor :made
        # @return [Integer] of the {Tickets} of the ractor that it waits at
        attr_accessor :ticket

        def initialize(index, item, arguments)
          @index = index
          @item = item
          @arguments = arguments
          @made = 0
        end
      end
    end
  end
end
