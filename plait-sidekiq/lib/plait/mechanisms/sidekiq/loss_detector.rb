# frozen_string_literal: true

require "json"
require "sidekiq/api"
require_relative "channel"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # An item on its way. `made` counts the attempts whose process or thread died, `attempts` all started ones, `sent` the
      # copies so far. `process` is the number of the process that has reserved its copy; `sent_at` is in monotonic seconds.
      class Task
        attr_reader :index, :item, :made, :attempts, :sent, :sent_at
        # @return [Integer, nil] see {Channel#owners}
        attr_accessor :process
        # @return [String, nil] the identity of this process
        attr_accessor :worker

        def initialize(index, item)
          @index = index
          @item = item
          @made = @attempts = @sent = 0
        end

        # Makes the next copy; former ones no longer count.
        # @return [String] its name
        def copy_again
          @sent_at = Deadline.now
          @process = @worker = nil
          @sent += 1
          copy
        end

        # @return [String] the name of the copy that counts
        def copy = "#{@index}/#{@sent}"

        def started? = !@process.nil?

        # @param number [Integer] of the attempt, from 1
        def attempt(number) = @attempts = number

        # Prepares another attempt.
        def reset = @made = @attempts = [@attempts, @made + 1].max
      end

      # The processes of Sidekiq in Redis: each has a connection that lasts as long as it does, and gives a sign of life.
      class Processes
        # A time above this counts milliseconds, as Sidekiq does from version 8 on.
        MILLISECONDS = 1e11
        # Seconds in which processes connect again to a Redis that was started again, or to the replica in its place.
        SETTLE = 10

        # @param redis [#with] a pool of connections
        def initialize(redis)
          @redis = redis
        end

        # @param numbers [Array<Integer>] of processes
        # @return [Array<Integer>] the ones whose connection is closed; none where Redis does not allow the question
        def gone(numbers)
          return [] if @refused

          server, connections = @redis.with do |redis|
            redis.pipelined do |pipeline|
              pipeline.call("INFO", "server")
              pipeline.call("CLIENT", "LIST", "ID", *numbers.map { |number| Channel.connection(number) })
            end
          end
          open = connections.scan(/^id=(\d+)/).map { |(id)| id.to_i }
          another_server?(server[/^run_id:(\w+)/, 1]) ? [] : numbers.reject { |number| open.include?(Channel.connection(number)) }
        rescue ::RedisClient::CommandError => e
          raise unless e.message.match?(/\A(NOPERM|ERR)/)

          @refused = true
          []
        end

        # @return [Array<String>] the identities of processes that gave no sign of life for a minute
        def dead(identities) = identities.reject { |identity| @redis.with { |redis| redis.call("EXISTS", identity) }.positive? }

        # @return [Boolean] whether any process takes jobs from the queue
        def served?(queue) = processes.any? { |process| takes_from?(process, queue) && !process.stopping? }

        # Sidekiq takes the oldest job first: an older one than this has been taken.
        # @return [Float] seconds for which the oldest job waits in the queue, by the clock of its sender; 0: the queue is empty
        def longest_wait(queue)
          oldest = @redis.with { |redis| redis.call("LINDEX", "queue:#{queue}", -1) } or return 0.0
          at = JSON.parse(oldest)["enqueued_at"].to_f
          Time.now.to_f - (at > MILLISECONDS ? at / 1000 : at)
        end

        private

        # @param run [String] of the server
        # @return [Boolean] whether the connections are new, too
        def another_server?(run)
          @settled_at = Deadline.now + SETTLE if @run && @run != run
          @run = run
          !@settled_at.nil? && Deadline.now < @settled_at
        end

        # From 8.1 on Sidekiq keeps the queues of a process elsewhere; `queues` reads both.
        def takes_from?(process, queue) = Array(process.queues).include?(queue)

        # Without the clean-up, which is the program's decision.
        def processes = ::Sidekiq::ProcessSet.new(false)
      end

      # Finds items that will get no answer: Sidekiq itself reports neither a killed process nor a queue without a process.
      class LossDetector
        # Seconds: between two checks; of a queue without a process; from the queue until an item is reserved, twice as many for
        # the next copy, then four times (middleware may take long); without the connection of a process, which a living one
        # replaces within two; without its sign of life, which is there again within ten where Redis has lost it; between two
        # looks at these signs.
        Patience = Struct.new(:look, :unserved, :unreserved, :disconnected, :silent, :signs)
        PATIENCE = Patience.new(1, 30, 5, 3.5, 15, 5).freeze
        # Seconds between the clocks of two machines, and between a push and its time in the job.
        SKEW = 1.0

        def initialize(processes, queue, patience)
          @processes = processes
          @queue = queue
          @patience = patience
          @looked = @signed = Deadline.now - patience.signs # the first check is at once
          @gone = {}
          @silent = {}
          @taken = {}
        end

        # @return [Boolean] whether it is time for {#lost}
        def due? = Deadline.now >= @looked + @patience.look

        # @param tasks [Array<Task>] with the processes that have reserved them
        # @return [Array<Array(Task, WorkerDied)>] lost items, with their errors
        # @raise [UnsupportedError] no process takes from the queue
        def lost(tasks)
          @looked = Deadline.now
          started, waiting = tasks.partition(&:started?)
          look_at_signs(started, waiting) if @looked >= @signed + @patience.signs
          of_dead_processes(started) + vanished(waiting)
        end

        private

        def look_at_signs(started, waiting)
          @signed = @looked
          check_service if waiting.any?
          workers = started.filter_map(&:worker).uniq
          @silent = since(@silent, workers.any? ? @processes.dead(workers) : [])
        end

        def check_service
          return @unserved = nil if @processes.served?(@queue)

          @unserved ||= @looked
          raise UnsupportedError, unserved if @looked >= @unserved + @patience.unserved

          ::Sidekiq.logger.warn(unserved) unless @warned
          @warned = true
        end

        def unserved
          "no process of Sidekiq takes jobs from the queue #{@queue.inspect}: start one with " \
            "`bundle exec sidekiq -q #{@queue}`, which has loaded the class"
        end

        # A process that stops in order answers, and then leaves: its answers arrive between two checks.
        def of_dead_processes(started)
          @gone = since(@gone, started.any? ? @processes.gone(started.map(&:process).uniq) : [])
          lose(started.select { |task| dead?(task) }) do |task|
            "Sidekiq's process #{task.worker || "with connection #{task.process}"} died before it answered for item #{task.index}"
          end
        end

        def dead?(task) = lasts?(@gone[task.process], @patience.disconnected) || lasts?(@silent[task.worker], @patience.silent)

        # Taken from the queue, and not reserved: the process that took it was killed just then.
        def vanished(waiting)
          old = waiting.select { |task| task.sent_at + patience_for(task) <= @looked }
          @taken = since(@taken, taken(old))
          lose(old.select { |task| lasts?(@taken[task.copy], @patience.look) }) do |task|
            "a process of Sidekiq took item #{task.index} from its queue and has not started it"
          end
        end

        def patience_for(task) = @patience.unreserved * (2**[task.sent - 1, 2].min)

        def taken(tasks)
          return [] if tasks.empty?

          wait = @processes.longest_wait(@queue) + SKEW
          tasks.select { |task| @looked - task.sent_at > wait }.map(&:copy)
        end

        # The time at which each one was found first.
        def since(before, now) = now.to_h { |one| [one, before.fetch(one, @looked)] }

        def lasts?(since, seconds) = since && @looked > since && @looked >= since + seconds

        def lose(tasks) = tasks.map { |task| [task, WorkerDied.new(yield(task))] }
      end
      private_constant :Task, :Processes, :LossDetector
    end
  end
end
