# frozen_string_literal: true

require_relative "channel"
require_relative "item_job"
require_relative "loss_detector"
require_relative "plain"

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
        # Copies of an item that are taken from the queue and never start. After these the item seems to kill its process: each
        # further one counts as an attempt.
        COPIES = 3
        # Items sent at once, and copies forgotten at once; raising it saves commands of Redis, and the first ones start later.
        BATCH = 50
        # Messages of one copy: they may come twice, or when another copy has replaced it.
        OF_COPY = %w[returned ended died].freeze
        private_constant :OF_COPY

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
          @workers = {} # by their number
          @unsent = []
          @settled = [] # copies that can be forgotten
          @ready = []
          open_channel
        rescue ThreadError => e
          raise UnsupportedError, "the system gives no thread to wait for Sidekiq's answers (#{e.message}): see ulimit -u"
        ensure
          @redis&.shutdown(&:close) unless @listener
        end

        def room? = @tasks.size < @limit

        def submit(index, item)
          Plain.check(item, "the item")
          @unsent << (@tasks[index] = Task.new(index, item))
          turn if @unsent.size >= BATCH
        rescue UnmarshalableError => e
          @ready << Outcome.new(index: index, item: item, error: e, attempts: 0)
        end

        # Sends what was submitted.
        def turn
          tasks = @unsent
          return if tasks.empty?

          @unsent = []
          send_off(tasks)
        end

        def ready?
          digest(@listener.take) while @ready.empty? && @listener.any?
          !@ready.empty?
        end

        # Items are sent before a wait, and so mostly many together.
        def take
          until ready?
            turn
            digest(@listener.take)
          end
          @ready.shift
        end

        # Jobs that have not started stay in their queue, whose processes will skip them.
        def cancel
          return [] if @over || forked?

          @over = true
          @unsent.clear
          end_started
          @tasks.each_value.to_a.each { |task| fail_with(task, CancelledError.new(unstoppable(task))) }
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

        def open_channel
          @terms = terms
          in_time { Redis.reached { @channel.open } }
          @listener = Listener.new(@channel, @policy.deadline, @limit)
        end

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

        # After a lost answer the jobs may be in Redis or not: copies that are there and were not reserved must not run.
        def send_off(tasks)
          tried = false
          in_time do
            Redis.patiently([OUTAGE, *@policy.deadline&.remaining].min) do
              tasks = tasks.select { |task| @channel.withdraw(task.copy) } if tried
              tried = true
              push(tasks)
            end
          end
        rescue ::RedisClient::Error => e
          raise Redis.error(e)
        rescue DeadlineExceeded => e
          tasks.each { |task| fail_with(task, e) }
        end

        def push(tasks)
          return if tasks.empty?

          offer(tasks)
          orders = tasks.map { |task| [order_of(task)] }
          sent = @client.push_bulk("class" => ItemJob, "queue" => @job.queue, "args" => orders, "retry" => false)
          tasks.zip(sent) { |task, jid| keep_back(task) unless jid }
        end

        # Makes copies that processes may reserve. Former ones are forgotten, many at once.
        def offer(tasks)
          tasks.each do |task|
            settle_copy(task) if task.sent.positive?
            task.copy_again
          end
          forgotten = @settled.size < BATCH ? [] : @settled
          @channel.offer(tasks.map(&:copy), forgotten)
          forgotten.clear
        end

        def order_of(task) = { **@terms, "index" => task.index, "made" => task.made, "item" => task.item, "copy" => task.copy }

        def keep_back(task)
          fail_with(task, UnsupportedError.new("a client middleware of Sidekiq kept #{ItemJob} back: it must yield"))
        end

        def settle_copy(task) = @settled << task.copy

        # The part of a job that all items share.
        def terms
          retries = ItemJob.words_of(@policy.retries) if @policy.retries.count.positive?
          { "run" => @channel.id, "job" => @job.name, "timeout" => Plain.number(@policy.timeout), "retries" => retries }.compact
        end

        def digest(news)
          case news
          when StandardError then raise Redis.error(news)
          when nil then raise ConnectionError, "the thread that listens to Sidekiq's Redis for this run has ended"
          when :tick then look
          else news.each { |message| take_message(*message) }
          end
        end

        # The first answer counts: a worker that seemed dead may still send another one.
        def take_message(kind = nil, index = nil, *rest)
          return @workers[index] = rest.first if kind == "process"

          task = @tasks[index]
          take_news(task, kind, rest) if task && !(OF_COPY.include?(kind) && rest.first != task.copy)
        end

        def take_news(task, kind, rest)
          case kind
          when "attempt" then task.attempt(rest.first)
          when "returned" then give_back(task)
          when "done" then settle(task, rest.first, value: rest.last)
          when "failed" then settle(task, rest.first, error: Plain.to_error(rest.last))
          when "ended" then end_task(task)
          when "died" then lose_thread(task, rest.last)
          end
        end

        # Its process ends; Sidekiq has put the job back, whose copy does not run again.
        def give_back(task) = @over ? @tasks.delete(task.index) : send_off([task])

        # The worker ended it: after a cancel, or because this process sent no sign of life for long (a machine that slept).
        def end_task(task)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("item #{task.index} was ended, since this process had given no sign of life for a minute"))
        end

        def lose_thread(task, worker)
          return @tasks.delete(task.index) if @over

          lose(task, WorkerDied.new("the thread of Sidekiq's process #{worker} that ran item #{task.index} ended before it " \
                                    "answered: its job ended it (Thread.exit), or a kill did, or the answer could not be " \
                                    "sent (see the log of this process)"))
        end

        # With times of the caller's clock: the worker has another one.
        def settle(task, facts, **result)
          forget(task)
          worker, attempts, seconds = facts
          now = Deadline.now
          @ready << Outcome.new(index: task.index, item: task.item, attempts: attempts, started_at: now - seconds,
                                finished_at: now, worker: worker, **result)
        end

        # Without an error while Redis is unreachable: the listener limits that time.
        def look
          return if @over
          return expire if @policy.deadline&.expired?

          find_lost if @losses.due?
        rescue ::RedisClient::Error => e
          raise Redis.error(e) unless Redis.passing?(e)
        end

        def find_lost
          lost = @losses.lost(find_processes(@tasks.values.select(&:sent_at)))
          lost.each { |task, error| task.started? ? lose(task, error) : send_again(task, error) }
        end

        # @return [Array<Task>] these, with the processes that have reserved them
        def find_processes(tasks)
          return tasks if tasks.empty?

          tasks.zip(@channel.owners(tasks.map(&:copy))) do |task, process|
            task.process = process
            task.worker = @workers[process]
          end
          tasks
        end

        # The item has not run: another copy does no harm.
        def send_again(task, error)
          return unless @channel.withdraw(task.copy)

          task.sent < COPIES ? send_off([task]) : lose(task, error)
        end

        def lose(task, error)
          task.reset
          return fail_with(task, error) unless @policy.again?(error, task.made)

          send_off([task])
        end

        def expire
          revoke(LEAVE)
          @unsent.clear
          error = DeadlineExceeded.new("the deadline passed before Sidekiq had an answer")
          @tasks.each_value.to_a.each { |task| fail_with(task, error) }
        end

        def fail_with(task, error)
          forget(task)
          @ready << Outcome.new(index: task.index, item: task.item, error: error, attempts: task.attempts, worker: task.worker)
        end

        def forget(task)
          @tasks.delete(task.index)
          settle_copy(task)
        end

        # @return [Array<String>] the copies that processes have reserved
        def revoke(seconds)
          in_time(seconds) { @channel.revoke }
        rescue ::RedisClient::Error, DeadlineExceeded
          [] # workers end the items within a minute, without a sign of life
        end

        def end_started
          reserved = revoke(leave).to_h { |copy| [copy, true] }
          @tasks.keep_if { |_, task| reserved[task.copy] }
          limit = Deadline.after(GRACE)
          digest(@listener.take) while @tasks.any? && !limit.expired?
        rescue ConnectionError
          nil # no worker can be reached: each ends its items when Redis is back
        end

        def unstoppable(task)
          "item #{task.index} still runs in a process of Sidekiq: it was asked to end, and had not ended after " \
            "#{GRACE} s"
        end
      end
      private_constant :Run
    end
  end
end
