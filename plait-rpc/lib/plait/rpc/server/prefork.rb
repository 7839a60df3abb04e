# frozen_string_literal: true

require "tempfile"
require_relative "shift"
require "plait/io/workers"

module Plait
  module RPC
    class Server
      # A server on several processes. The master serves no client: its workers accept from the sockets that it has opened.
      class Prefork
        # How many connections each worker has, as all of them see it. The kernel gives a connection to the process that asks
        # first, and a process that is awake is always first: workers with more connections leave the others a moment.
        # The numbers, from 0 to 2^32 - 1, are in a file without a name, which ends with its last owner. A process writes its own
        # and reads all; each is read and written whole.
        class Scores
          SIZE = 4
          FORMAT = "L*"
          # In the place of a worker that is not there, so that no worker waits for it.
          ABSENT = (1 << 32) - 1

          def initialize(workers)
            @count = workers
            @file = Tempfile.create(binmode: true)
            File.unlink(@file.path)
            @file.pwrite(([ABSENT] * workers).pack(FORMAT), 0)
          end

          # In a worker: from now on it has that place.
          def take(place)
            self[@place = place] = 0
          end

          # In the master: that worker is gone.
          def vacate(place) = self[place] = ABSENT

          # @param connections [Integer] that this worker has now
          # @return [Integer] how many fewer the worker with the fewest has
          def lead(connections)
            self[@place] = connections
            [connections - to_a.min, 0].max
          end

          def to_a = at_once { @file.pread(@count * SIZE, 0) }.unpack(FORMAT)

          # In this process.
          def close = @file.close

          private

          def []=(place, number)
            at_once { @file.pwrite([number].pack(FORMAT), place * SIZE) }
          end

          # The file is in memory: from Ruby 3.3 on a scheduler would have a thread do it, and the fiber would wait.
          def at_once(&access) = Fiber.respond_to?(:blocking) ? Fiber.blocking(&access) : yield
        end

        # The server in one worker: a {Shift}. A stop, and statistics, are for all workers.
        class Member
          def initialize(life)
            @life = life
          end

          # Serves until the master ends it.
          def run(mechanism)
            Plait.run(on: mechanism, on_error: :collect) do |scope|
              @shift = yield scope, @life.stop_signal
              @life.ready(self)
              @shift.run
            end
          ensure
            @shift&.close
          end

          # @return [Hash] see {Io::Workers#report}
          def report
            all = @shift.statistics
            { counters: all.slice(*COUNTERS), gauges: all.except(*COUNTERS) }
          end

          def statistics = Prefork.merge(@life.total)

          # Only the master knows them.
          def pids = []

          # Where the server has a stop signal, in other processes.
          def stop(deadline) = @life.stop_all(deadline.remaining)
        end

        # Of statistics: what is also counted of workers that are gone.
        COUNTERS = %i[requests notifications refused unknown excessive broken done].freeze
        # Seconds beyond the time to end, after which a worker is killed.
        GRACE = 5

        def self.merge(total) = { **total.fetch(:gauges), **total.fetch(:counters), **total.slice(:processes, :replaced) }

        # @param stop_signal [Io::StopSignal] is set when all shall end
        # @yieldparam member [Member] in a worker, before it serves
        def initialize(options, handler, listeners, stop_signal, &at_work)
          raise UnsupportedError, "#{RUBY_ENGINE} can't fork here; use on: :threads" unless Process.respond_to?(:fork)

          @scores = Scores.new(options.workers)
          plan = Io::Workers::Plan.of(name: "RPC worker %d", slack: GRACE, silence: Float::INFINITY, drain: DRAIN,
                                      notice: ->(_) {}, on_death: [@scores.method(:vacate)],
                                      on_end: [-> { listeners.each(&:close) }])
          @workers = Io::Workers.new(options.workers, stop_signal, plan) do |life|
            stop_signal.close
            settle_in(life.index)
            member = Member.new(life).tap(&at_work)
            member.run(options.inner) { |scope, stop| Shift.new(scope, options, handler, listeners, stop, scores: @scores) }
          end
        end

        def run = @workers.run

        def close = @scores.close

        # @return [Array<Integer>] the workers' processes
        def pids = @workers.pids

        # @return [Hash{Symbol => Integer}] of all workers together
        def statistics = Prefork.merge(@workers.total)

        private

        # In a worker. Unbuffered, what methods print comes at once, in whole lines.
        def settle_in(place)
          Process.setproctitle("#{$PROGRAM_NAME} (plait RPC worker #{place})")
          [STDOUT, STDERR].each { |stream| stream.sync = true unless stream.closed? }
          @scores.take(place)
        end
      end
      private_constant :Prefork
    end
  end
end
