# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The parent's side of a worker: its items, and the pipes.
      class Worker
        # Bytes read from one worker before the others and the caller get their turn.
        BUDGET = 1 << 20
        # Bytes found in the pipe from which on the worker may have been waiting for us to read. (It takes 65,536 here, in
        # pages, and small writes in whole.)
        CHOKED = 32_768

        attr_reader :slot, :child
        # @return [Integer] items it runs at once
        attr_reader :width
        # @return [Hash{Integer => Task}] in the order in which they were sent
        attr_reader :tasks
        # @return [Float] when it last finished an item, or else got its first; monotonic seconds
        attr_reader :since
        # @return [Float] when it may last have had to wait for its pipe to be read; monotonic seconds
        attr_reader :choked_at
        # @return [String, nil] its report of its own failure
        attr_accessor :crash
        # @return [Boolean] whether it has ever started or answered for an item
        attr_accessor :fruitful
        # @return [Boolean] whether no other worker started together with it
        attr_accessor :alone
        # @return [UnsupportedError, nil] that the system gives it no threads
        attr_accessor :refusal

        def initialize(slot, width)
          @slot = slot
          @width = width
          @tasks = {}
          @child = ChildProcess.new("plait worker #{slot}", down: %i[items lifeline], up: %i[results wakeup], kept: %i[items])
          @reader = FrameReader.new(Frames::ANSWER, kinds: Frames::KINDS)
          @settled = @heard = @answered = 0
          @busy = @choked_at = 0.0
        end

        # @param patience [Numeric] seconds
        # @yieldparam pipes [Hash{Symbol => IO}] in the child
        # @raise [UnsupportedError]
        def start(patience:, &body)
          @child.start(patience: patience, &body)
          @since = Deadline.now
          @outbox = Outbox.new(@child[:items])
          self
        end

        # @return [Array<IO>] of which it says anything
        def ears = [@child[:wakeup], @child[:results]]

        # @return [Array<IO>] our ends
        def pipes = [@child[:items], @child[:results], @child[:wakeup], @child[:lifeline]]

        # @return [IO] readable when there is something to read, or when the worker is dead
        def wakeup = @child[:wakeup]

        # @return [Array<IO>] what tells that there are answers
        def waited_for = [wakeup, results].compact

        # @return [IO, nil] of which more is known to come without a wakeup
        def results = listening? || @more || @reader.partial? ? @child[:results] : nil

        # @return [Boolean] whether it sends no wakeup for its next answer
        def listening? = @settled < @heard

        # @return [IO, nil] when there is something to write
        def items = @outbox.empty? ? nil : @child[:items]

        # Not one by one as it answers: each write to its pipe, and each wake-up, wakes a process.
        # @return [Integer] items it may be given now
        def room(ahead)
          return 0 if @recalled || !@outbox.empty?

          ahead = 0 if @silent
          free = @width + ahead - @tasks.size
          hungry? || free * 2 >= ahead ? free : 0
        end

        def hungry? = @tasks.size < @width

        # @return [Boolean] whether items wait at it
        def queued? = @tasks.size > @width

        # @param waiting [Integer] how answers are waited for, see {Frames}
        def send(batch, waiting)
          @since = Deadline.now if @tasks.empty?
          batch.parts(waiting).each { |part| @outbox << part }
          batch.tasks.each do |task|
            task.ends = @outbox.given
            @tasks[task.index] = task
          end
          @heard = @settled + @tasks.size if waiting == Frames::LISTENING
          @outbox.flush
        end

        # Writes as much as its pipe takes now.
        def flush = @outbox.flush

        # @return [Boolean] false when it is dead
        def hear
          loop do
            heard = Readiness.read(@child[:wakeup], 256)
            return !heard.nil? unless heard.is_a?(String) && heard.size == 256
          end
        end

        # Reads answers.
        # @param budget [Numeric] bytes
        # @yieldparam fields [Array] of a frame's header
        # @raise [Garbage]
        def read(budget, &block)
          before = budget
          @more = false
          until @disowned || @more
            wanted = @reader.wanted
            data = Readiness.read(@child[:results], wanted)
            break unless data.is_a?(String)

            @reader.push(data, &block)
            budget -= data.bytesize
            break if data.bytesize < wanted

            @more = budget.negative?
          end
          @choked_at = Deadline.now if before - budget >= CHOKED
        end

        # Nothing it says is believed from now on.
        def disown(reason)
          @disowned = true
          @crash = reason
        end

        def disowned? = @disowned

        # Asks for the items back that wait at it.
        def recall
          return if @recalled

          @recalled = true
          Readiness.write(@child[:lifeline], "!")
        rescue Errno::EPIPE
          nil
        end

        # Gets no more items than it can run at once until it has answered for one.
        # @param indexes [Array<Integer>] that it gave back
        def given_back(indexes)
          @recalled = false
          @silent = true
          indexes.filter_map { |index| @tasks.delete(index) }.tap { |tasks| @settled += tasks.size }
        end

        # @return [Task, nil] the one that has been answered for
        def settle(index, started_at, finished_at)
          task = @tasks.delete(index) or return
          @busy += finished_at - (@loaded ? @since : started_at)
          @answered += 1
          @settled += 1
          @loaded = @tasks.size >= @width
          @silent = false
          @since = finished_at
          task
        end

        # @yieldparam seconds [Float] that the items settled since the last call kept it busy
        # @yieldparam items [Integer] how many they were
        def measure
          yield @busy, @answered if @answered.positive?
          @busy = 0.0
          @answered = 0
        end

        # Looks what has reached it, while its pipes are open.
        def take_stock = @taken = @outbox.written - @child.unread(:items)

        # @param announced [Boolean] whether it announces each attempt
        # @return [Array<Task>] the tasks it was running. Where attempts are not announced: the first ones that have reached it
        #   and have no answer. (A worker killed just between two items passes for running the second.)
        def running(announced:)
          return [] if @refusal
          return @tasks.each_value.select(&:running?) if announced

          @tasks.each_value.take(@width).select { |task| task.ends <= @taken }
        end

        def death = WorkerDied.new("the worker process #{@child.pid} that ran this item #{ending}", status: @child.status)

        # @return [String] how it ended
        def ending = [end_by(@child.status), *@crash].join(": ")

        private

        def end_by(status)
          return "is gone (other code has waited for it)" unless status
          return "ended with exit code #{status.exitstatus}" unless status.signaled?

          name = Signal.signame(status.termsig) || status.termsig
          name == "KILL" && !@crash ? "was killed by SIGKILL (out of memory?)" : "was killed by SIG#{name}"
        end
      end

      # An item that was submitted and has not been answered for.
      class Task
        attr_reader :index, :item
        # @return [Integer] attempts that ended with the death of their worker
        attr_reader :made
        # @return [Integer] attempts started, if there are any
        attr_reader :attempts
        # @return [Float, nil] when the block that is running began, if the worker says so
        attr_reader :started_at
        # @return [Integer] where its batch ends, in bytes of all that its worker was sent
        attr_accessor :ends

        def initialize(index, item)
          @index = index
          @item = item
          @made = 0
          reset(running: false)
        end

        # @return [Boolean] whether the worker has said that it runs
        def running? = @running

        # @param number [Integer] of the attempt, from 1
        # @param started_at [Float] 0.0: its block is not running
        def attempt(number, started_at)
          @running = true
          @attempts = number
          @started_at = (started_at if started_at.positive?)
        end

        # Makes it ready for another worker.
        # @param running [Boolean] whether the dead worker had started it
        def reset(running:)
          @made = @attempts if running
          @attempts = @made + 1
          @running = false
          @started_at = nil
        end
      end
    end
  end
end
