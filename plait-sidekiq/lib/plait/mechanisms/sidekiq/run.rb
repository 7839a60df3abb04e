# frozen_string_literal: true

require_relative "channel"
require_relative "item_job"
require_relative "loss_detector"
require_relative "plain"
require "plait/mechanisms/mechanism"
require "plait/mechanisms/options"
require "plait/mechanisms/time_limit"
require "plait/native"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/outcome"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The items of one run: each is a job in Redis, and comes back as news of its {Channel}.
      class Run < Executor
        # Connections: one listens.
        POOL = 2
        # Seconds for a cancelled item to end.
        GRACE = 5.0
        # Seconds for which Redis may be away when an item is to be sent.
        OUTAGE = Listener::OUTAGE
        # Seconds that Redis has for the end of a run whose deadline has passed.
        LEAVE = 0.25
        # Copies of an item that are taken from the queue and never begin: then the item itself ends its processes.
        COPIES = 3

        # @param job [Job]
        # @param policy [Options]
        # @param limit [Integer]
        # @param patience [LossDetector::Patience]
        def initialize(job, policy, limit, patience: LossDetector::PATIENCE)
          super()
          @job = job
          @policy = Options.new(timeout: policy.timeout, deadline: policy.deadline, retries: policy.retries)
          @limit = limit
          @generation = Native.fork_generation
          @redis = Redis.pool(POOL)
          @channel = Channel.new(@redis)
          @client = ::Sidekiq::Client.new(pool: @redis)
          @losses = LossDetector.new(Processes.new(@redis), job.queue, patience)
          @tasks = {}
          @ready = []
          @terms = terms
          in_time { Redis.reached { @channel.open } }
          @listener = Listener.new(@channel, @policy.deadline)
        rescue ThreadError => e
          raise UnsupportedError, "the system gives no thread to wait for Sidekiq's answers (#{e.message}): see ulimit -u"
        ensure
          @redis&.shutdown(&:close) unless @listener
        end

        def room? = @tasks.size < @limit

        def submit(index, item)
          Plain.check(item, "the item")
          send_off(@tasks[index] = Task.new(index, item))
        rescue UnmarshalableError => e
          @tasks.delete(index)
          @ready << Outcome.new(index: index, item: item, error: e, attempts: 0)
        end

        def ready?
          digest(@listener.take) while @ready.empty? && @listener.any?
          !@ready.empty?
        end

        def take
          digest(@listener.take) while @ready.empty?
          @ready.shift
        end

        # Jobs that have not begun stay in their queue, and are passed over there.
        def cancel
          return [] if @over || forked?

          @over = true
          end_what_runs
          @tasks.each_value { |task| fail_with(task, CancelledError.new(unstoppable(task))) if task.begun? }
          @tasks.clear
          @ready.slice!(0..)
        end

        def close
          return if forked?

          @listener.stop(leave)
          in_time(leave) { @channel.close }
        rescue ::RedisClient::Error, DeadlineExceeded
          nil # what is left there goes by itself
        ensure
          @redis.shutdown(&:close)
        end

        def remains = method(:abandon)

        private

        def abandon
          cancel
          close
        end

        # In a child that was forked in the middle of the run: that is its parent's.
        def forked? = Native.fork_generation != @generation

        # A Redis that is silent (a machine that is gone, a firewall) keeps its caller for the client's own timeouts, tried again.
        def in_time(seconds = @policy.deadline&.remaining, &block)
          return yield unless seconds

          TimeLimit.enforce(seconds, DeadlineExceeded, &block)
        rescue DeadlineExceeded
          raise DeadlineExceeded, "the deadline passed before Sidekiq's Redis answered"
        end

        # @return [Float, nil] seconds; nil: as long as it takes
        def leave = @policy.deadline&.remaining&.clamp(LEAVE, nil)

        def send_off(task)
          patience = [OUTAGE, *@policy.deadline&.remaining].min
          sent = in_time { Redis.patiently(patience) { push(task) } }
          return task.sent if sent

          fail_with(task, UnsupportedError.new("a client middleware of Sidekiq kept #{ItemJob} back: it must yield"))
        rescue ::RedisClient::Error => e
          raise Redis.error(e)
        rescue DeadlineExceeded => e
          fail_with(task, e)
        end

        # Where the answer to a push was lost, the copy that may have arrived does not count.
        def push(task)
          order = { **@terms, "index" => task.index, "made" => task.made, "item" => task.item, "copy" => copy_of(task) }
          @client.push("class" => ItemJob, "queue" => @job.queue, "args" => [order], "retry" => false)
        rescue ::RedisClient::Error => e
          replace(task) unless Redis.untouched?(e)
          raise
        end

        def replace(task)
          before = copy_of(task)
          task.copy_again
          Redis.patiently(OUTAGE) { @channel.replace(before) }
        end

        def copy_of(task) = "#{task.index}/#{task.copy}"

        # What all items have in common.
        def terms
          { "run" => @channel.id, "job" => @job.name, "timeout" => Plain.number(@policy.timeout),
            "retries" => ItemJob.words_of(@policy.retries) }
        end

        def digest(news)
          case news
          when StandardError then raise Redis.error(news)
          when nil then raise ConnectionError, "the thread that listens to Sidekiq's Redis for this run has ended"
          when :tick then look
          else hear(*news)
          end
        end

        # The first answer is the one that counts: a worker that was taken for dead may still come with another.
        def hear(kind = nil, index = nil, *rest)
          task = @tasks[index] or return
          case kind
          when "begun" then task.attempt(*rest)
          when "returned" then task.give_back(*rest)
          when "done" then settle(task, rest.first, value: rest.last)
          when "failed" then settle(task, rest.first, error: Plain.to_error(rest.last))
          when "ended" then hear_of_end(task)
          when "died" then hear_of_death(task, *rest)
          end
        end

        # The worker ended it: at cancel, or because this process gave no sign of life for long (a machine that slept).
        def hear_of_end(task)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("item #{task.index} was ended, since this process had given no sign of life for a minute"))
        end

        def hear_of_death(task, worker)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("the thread of Sidekiq's process #{worker} that ran item #{task.index} ended before it " \
                                    "answered: its job ended it (Thread.exit), or something killed it"))
        end

        # By the caller's clock: the worker's is another one.
        def settle(task, facts, **result)
          @tasks.delete(task.index)
          worker, attempts, seconds = facts
          now = Deadline.now
          @ready << Outcome.new(index: task.index, item: task.item, attempts: attempts, started_at: now - seconds,
                                finished_at: now, worker: worker, **result)
        end

        # (While Redis is away there is nothing to see, and the listener knows for how long it may be.)
        def look
          return if @over
          return expire if @policy.deadline&.expired?

          @losses.lost(@tasks.each_value).each { |task, error| task.begun? ? lose(task, error) : send_again(task, error) }
        rescue ::RedisClient::Error => e
          raise Redis.error(e) unless Redis.passing?(e)
        end

        # It has not run: another copy does no harm.
        def send_again(task, error)
          return fail_with(task, error) if task.copy + 1 >= COPIES

          replace(task)
          send_off(task)
        end

        def lose(task, error)
          task.reset
          return fail_with(task, error) unless @policy.again?(error, task.made)

          send_off(task)
        end

        def expire
          revoke(LEAVE)
          error = DeadlineExceeded.new("the deadline passed before Sidekiq had an answer")
          @tasks.each_value.to_a.each { |task| fail_with(task, error) }
        end

        def fail_with(task, error)
          @tasks.delete(task.index)
          @ready << Outcome.new(index: task.index, item: task.item, error: error, attempts: task.attempts, worker: task.worker)
        end

        # @return [Boolean] whether Redis has heard it
        def revoke(seconds)
          in_time(seconds) { @channel.revoke }
          true
        rescue ::RedisClient::Error, DeadlineExceeded
          false # workers see within a minute that the run gives no sign of life
        end

        def end_what_runs
          return unless revoke(leave)

          limit = Deadline.after(GRACE)
          digest(@listener.take) while @tasks.each_value.any?(&:begun?) && !limit.expired?
        rescue ConnectionError
          nil # no worker can be reached: each sees it when Redis is there again
        end

        def unstoppable(task)
          "item #{task.index} still runs, in Sidekiq's process #{task.worker}: it was told to end, and had not done so after " \
            "#{GRACE} s"
        end
      end
      private_constant :Run
    end
  end
end
