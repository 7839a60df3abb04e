# frozen_string_literal: true

require_relative "../pace"
require_relative "shared_items"
require_relative "worker"
require_relative "worker_loop"
require_relative "workers"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The items of one run, on their way to forked workers and back.
      class Pool < Executor
        # Seconds between two looks for answers while the caller is busy with something else.
        GLANCE = 0.002
        # Workers in a row that die before they start an item; after that many, further ones are expected to die, too.
        FAILED_STARTS = 3

        # @param widths [Array<Integer>] items at once, of each worker
        # @param sharing [Boolean] whether the block can serve {SharedItems}
        # @yieldparam pipes [Hash{Symbol => IO}] in each child; then its width, and with {SharedItems} these and its slot
        def initialize(attempt, widths, sharing: false, &serve)
          super()
          @policy = attempt.policy
          @announced = Execution.announced?(attempt.policy)
          @width = widths.sum
          @size = widths.size
          @plain = widths.all?(1)
          @sharing = sharing && !@announced && Native.available?
          @workers = Workers.new(widths, &serve)
          @pace = Pace.new(widths.size)
          @supervisor = Supervisor.new(self, @workers, @pace, @policy)
          @backlog = []
          @ready = []
          @load = 0
          @failed_starts = 0
          @hungry = true
          @looked = 0.0
        end

        def room? = @load < @width + (@pace.ahead * @size)

        # A worker that has nothing to do gets the item at once; else items gather until they are worth a write.
        def submit(index, item)
          @load += 1
          @backlog << Task.new(index, item)
          dispatch if @hungry || @backlog.size > @pace.ahead / 2
        end

        # The workers take the items themselves.
        def run_all(items, values)
          @shared = @workers.shared = SharedItems.of(items, @size) if @sharing
          return false unless @shared

          @values = values
          @load = @shared.size
          pump(@workers.wanting? ? 0 : @supervisor.patience) while @load.positive? && @ready.empty?
          @ready.shift
        end

        # A source that is slow to give its next item must not hide the answers that have come meanwhile.
        def ready?
          glance if @ready.empty?
          !@ready.empty?
        end

        def take
          pump(@supervisor.patience) while @ready.empty?
          @ready.shift
        end

        def cancel
          @shared&.close
          @backlog.clear
          @workers.disband(terminate: true) { |worker| listen(worker, Float::INFINITY) }
          @ready.slice!(0..)
        end

        def remains = Workers.remains(@workers.slots)

        def close = @workers.disband(terminate: @load.positive?) { nil }

        # @return [Boolean] whether items wait that no worker has
        # @api private
        def backlog? = !@backlog.empty?

        # Reads a worker's answers.
        # @param budget [Numeric] bytes
        # @return [Boolean] false when its answers make no sense
        # @api private
        def listen(worker, budget = Worker::BUDGET)
          worker.read(budget) { |fields, payload| accept(worker, fields, payload) }
          worker.measure { |seconds, items| @pace.record(seconds, items) }
          @hungry ||= worker.hungry?
          !worker.disowned?
        rescue Garbage => e
          worker.disown(e.message)
          false
        end

        # Gives up a worker that has died or must die; its items run elsewhere, or are reported.
        # @param errors [Hash{Task => Exception}] errors of items, reported instead of the worker's death
        # @raise [UnsupportedError] when workers die as fast as they are forked
        # @api private
        def give_up(worker, errors = {})
          @workers.dismiss(worker) do
            listen(worker, Float::INFINITY)
            worker.take_stock
          end
          running = @shared ? lost(worker) : worker.running(announced: @announced)
          requeue(worker.tasks.values - running)
          running.reverse_each { |task| lose(worker, task, errors[task] || worker.death) }
          @hungry = true
          return @workers.do_without(worker) if worker.refusal

          count_failed_start(worker) unless worker.fruitful || running.any? || @shared&.left? == false
        end

        private

        def glance
          now = Deadline.now
          return if now - @looked < GLANCE

          @looked = now
          pump(0)
        end

        def pump(patience)
          dispatch
          return unless @ready.empty?

          readable, writable = Readiness.wait(*@workers.interests(@pace.few?), patience)
          @looked = Deadline.now
          drain(writable) if writable&.any?
          readable&.each { |io| attend(io) }
          @supervisor.look(@looked)
        end

        def drain(ios)
          ios.each { |io| @workers.of(io)&.flush }
          @workers.note_full
        end

        def attend(io)
          worker = @workers.of(io) or return
          alive = io == worker.wakeup ? worker.hear : true
          alive && listen(worker) ? nil : give_up(worker)
        end

        def dispatch
          return @workers.hire_one if @shared
          return if @backlog.empty?

          workers = @workers.open(@backlog.size, @pace.ahead)
          sharers = workers.size
          workers.each do |worker|
            provide(worker, sharers)
            sharers -= 1
          end
          @hungry = @workers.hungry?
        end

        def provide(worker, sharers)
          count = [(@backlog.size + sharers - 1) / sharers, worker.room(@pace.ahead)].min
          batch = Batch.new
          count.times { pack(batch, @backlog.shift) unless batch.full? }
          return if batch.empty?

          worker.send(batch, @pace.few? ? Frames::LISTENING : Frames::WAKEUP)
          @workers.note_full if worker.items
        end

        def pack(batch, task)
          batch.add(task, Portable::Value.dump(task.item, "the item"))
        rescue UnmarshalableError => e
          report(task, e, attempts: 0)
        end

        def requeue(tasks)
          tasks.each { |task| task.reset(running: false) }
          @backlog.unshift(*tasks)
        end

        def accept(worker, fields, payload)
          kind, _, attempts, index, started = fields
          return settle(worker, fields, payload) if kind <= Frames::ERROR

          case kind
          when Frames::ATTEMPT then begin_attempt(worker, index, attempts, started)
          when Frames::RETURNED then requeue(worker.given_back(payload.to_s.unpack("Q*")))
          when Frames::CRASH then worker.crash = text(payload)
          when Frames::REFUSED then worker.refusal = Refusal.of(ThreadError.new(text(payload)))
          end
        end

        def text(payload) = payload.to_s.dup.force_encoding(Encoding::UTF_8).scrub

        def settle(worker, fields, payload)
          kind, stream, attempts, index, started, finished = fields
          task = settled(worker, index, started, finished) or raise Garbage, "it answers for an item that it was not given"
          succeed(worker)
          begin
            kind == Frames::VALUE ? value = Portable::Value.load(payload, "the result") : error = Portable::Error.load(payload)
          rescue UnmarshalableError => e
            error = e
          end
          return keep(index, value) if @shared && error.nil?

          deliver Outcome.new(index: index, item: task.item, value: value, error: error, attempts: attempts,
                              started_at: started, finished_at: finished, worker: label(worker, stream))
        end

        # @return [Task, nil]
        def settled(worker, index, started, finished)
          return worker.settle(index, started, finished) unless @shared

          Task.new(index, @shared[index]) if @shared.settle(worker.slot, index)
        end

        # @return [Array<Task>] what a dead worker had taken
        def lost(worker) = Array(@shared.lost(worker.slot)).map { |index| Task.new(index, @shared[index]) }

        def keep(index, value)
          @load -= 1
          @values[index] = value
        end

        def deliver(outcome)
          @shared&.close # of shared items it is a failure
          @load -= 1
          @ready << outcome
        end

        def label(worker, stream) = @plain ? worker.slot : "#{worker.slot}.#{stream}"

        def begin_attempt(worker, index, number, started)
          worker.tasks[index]&.attempt(number, started)
          succeed(worker)
        end

        def succeed(worker)
          worker.fruitful = true
          @failed_starts = 0
        end

        def count_failed_start(worker)
          return if (@failed_starts += 1) < FAILED_STARTS

          raise UnsupportedError, "#{FAILED_STARTS} worker processes in a row ended before they began an item; the last one " \
                                  "#{worker.ending}. Look for what runs at every fork: hooks of libraries around " \
                                  "Process._fork, limits of memory or processes"
        end

        def lose(worker, task, error)
          return report(task, error, attempts: task.attempts, worker: worker) unless @policy.again?(error, task.attempts)

          task.reset(running: true)
          @backlog.unshift(task)
        end

        def report(task, error, attempts:, worker: nil)
          deliver Outcome.new(index: task.index, item: task.item, error: error, attempts: attempts,
                              started_at: task.started_at || worker&.since, finished_at: Deadline.now,
                              worker: worker && label(worker, 0))
        end
      end
    end
  end
end
