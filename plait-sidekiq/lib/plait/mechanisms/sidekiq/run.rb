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
      # The items of one run: each is a job in Redis, and its outcome is a message of its {Channel}.
      class Run < Executor
        # Connections to Redis; one reads messages.
        POOL = 2
        # Seconds for a cancelled item to end.
        GRACE = 5.0
        # Seconds for which Redis may be unreachable when an item is sent.
        OUTAGE = Listener::OUTAGE
        # Seconds for Redis at the end of a run whose deadline has passed.
        LEAVE = 0.25
        # Copies of an item that are taken from the queue and never start; after these, the item itself seems to kill its process.
        COPIES = 3

        # @param policy [Options]
        # @param limit [Integer]
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

        # Jobs that have not started stay in their queue, whose processes will skip them.
        def cancel
          return [] if @over || forked?

          @over = true
          end_started
          @tasks.each_value { |task| fail_with(task, CancelledError.new(unstoppable(task))) if task.started? }
          @tasks.clear
          @ready.slice!(0..)
        end

        def close
          return if forked?

          @listener.stop(leave)
          in_time(leave) { @channel.close }
        rescue ::RedisClient::Error, DeadlineExceeded
          nil # the rest expires in Redis
        ensure
          @redis.shutdown(&:close)
        end

        def remains = method(:abandon)

        private

        def abandon
          cancel
          close
        end

        # @return [Boolean] whether this process is a fork; the run is its parent's
        def forked? = Native.fork_generation != @generation

        # With a silent Redis (a lost machine, a firewall) the client's own timeouts and retries would exceed the deadline.
        def in_time(seconds = @policy.deadline&.remaining, &block)
          return yield unless seconds

          TimeLimit.enforce(seconds, DeadlineExceeded, &block)
        rescue DeadlineExceeded
          raise DeadlineExceeded, "the deadline passed before Sidekiq's Redis answered"
        end

        # @return [Float, nil] seconds; nil: without a limit
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

        # After a lost answer to a push, the copy in Redis, if any, must not run.
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

        # The part of a job that all items share.
        def terms
          { "run" => @channel.id, "job" => @job.name, "timeout" => Plain.number(@policy.timeout),
            "retries" => ItemJob.words_of(@policy.retries) }
        end

        def digest(message)
          case message
          when StandardError then raise Redis.error(message)
          when nil then raise ConnectionError, "the thread that listens to Sidekiq's Redis for this run has ended"
          when :tick then look
          else take_message(*message)
          end
        end

        # The first answer counts: a worker that seemed dead may still send another one.
        def take_message(kind = nil, index = nil, *rest)
          task = @tasks[index] or return
          case kind
          when "started" then task.attempt(*rest)
          when "returned" then task.give_back(*rest)
          when "done" then settle(task, rest.first, value: rest.last)
          when "failed" then settle(task, rest.first, error: Plain.to_error(rest.last))
          when "ended" then end_task(task)
          when "died" then lose_thread(task, *rest)
          end
        end

        # The worker ended it: after a cancel, or because this process sent no sign of life for long (a machine that slept).
        def end_task(task)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("item #{task.index} was ended, since this process had given no sign of life for a minute"))
        end

        def lose_thread(task, worker)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("the thread of Sidekiq's process #{worker} that ran item #{task.index} ended before it " \
                                    "answered: its job ended it (Thread.exit), or a kill did"))
        end

        # With times of the caller's clock: the worker has another one.
        def settle(task, facts, **result)
          @tasks.delete(task.index)
          worker, attempts, seconds = facts
          now = Deadline.now
          @ready << Outcome.new(index: task.index, item: task.item, attempts: attempts, started_at: now - seconds,
                                finished_at: now, worker: worker, **result)
        end

        # Without an error while Redis is unreachable: the listener limits that time.
        def look
          return if @over
          return expire if @policy.deadline&.expired?

          @losses.lost(@tasks.each_value).each { |task, error| task.started? ? lose(task, error) : send_again(task, error) }
        rescue ::RedisClient::Error => e
          raise Redis.error(e) unless Redis.passing?(e)
        end

        # The item has not run: another copy does no harm.
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

        # @return [Boolean] whether Redis has answered
        def revoke(seconds)
          in_time(seconds) { @channel.revoke }
          true
        rescue ::RedisClient::Error, DeadlineExceeded
          false # workers end the items within a minute, without a sign of life
        end

        def end_started
          return unless revoke(leave)

          limit = Deadline.after(GRACE)
          digest(@listener.take) while @tasks.each_value.any?(&:started?) && !limit.expired?
        rescue ConnectionError
          nil # no worker can be reached: each ends its items when Redis is back
        end

        def unstoppable(task)
          "item #{task.index} still runs, in Sidekiq's process #{task.worker}: it was asked to end, and had not ended after " \
            "#{GRACE} s"
        end
      end
      private_constant :Run
    end
  end
end
