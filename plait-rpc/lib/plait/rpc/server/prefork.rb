# frozen_string_literal: true

require "tempfile"
require_relative "prefork/control"
require_relative "shift"
require "plait/io/bell"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # A server on several processes. The master serves nobody: it has opened the listening sockets, from which its workers
      # accept, starts them, replaces those who die, and ends them. They end with it, however it ends.
      class Prefork
        # Numbers from 0 to 2^32 - 1 that a process and its forks share: each process writes its own and reads all. They are in
        # a file without a name, which is gone with its last owner. A number is read and written whole.
        class SharedNumbers
          SIZE = 4
          FORMAT = "L*"
          private_constant :SIZE, :FORMAT

          # @param count [Integer]
          # @param initial [Integer] what each of them is
          def initialize(count, initial = 0)
            @count = count
            @file = Tempfile.create(binmode: true)
            File.unlink(@file.path)
            @file.pwrite(([initial] * count).pack(FORMAT), 0)
          end

          # @param index [Integer]
          # @param number [Integer]
          def []=(index, number)
            at_once { @file.pwrite([number].pack(FORMAT), index * SIZE) }
          end

          # @return [Array<Integer>]
          def to_a = at_once { @file.pread(@count * SIZE, 0) }.unpack(FORMAT)

          # In this process.
          # @return [void]
          def close = @file.close

          private

          # It is in memory: from Ruby 3.3 on a scheduler would have a thread of its own do it, and the fiber wait.
          def at_once(&access) = Fiber.respond_to?(:blocking) ? Fiber.blocking(&access) : yield
        end

        # How many connections each worker has, as all of them see it. The kernel gives a connection to whoever asks first, and
        # who is awake is always first: so those with more than others leave these a moment.
        class Scores
          # In the place of a worker that is not there: nobody waits for it.
          NOBODY = (1 << 32) - 1

          def initialize(workers)
            @numbers = SharedNumbers.new(workers, NOBODY)
          end

          # In a worker: from now on it has that place.
          def take(place)
            @place = place
            @numbers[place] = 0
            self
          end

          # In the master: that worker is gone.
          def vacate(place) = @numbers[place] = NOBODY

          # @param connections [Integer] that this worker has now
          # @return [Integer] how many the one with the fewest has less
          def lead(connections)
            @numbers[@place] = connections
            [connections - @numbers.to_a.min, 0].max
          end

          def close = @numbers.close
        end

        # What a worker does from its first to its last moment: a {Shift}, and a word with its master.
        class Assignment
          # @param socket [UNIXSocket] to the master
          def initialize(socket)
            @bell = Io::Bell.new
            @control = Control.new(socket) { |method, arguments| hear(method, arguments) }
          end

          # @yieldparam scope [Scope]
          # @yieldparam bell [Io::Bell]
          # @yieldreturn [Shift]
          def run(options)
            Plait.run(on: options.inner, on_error: :collect) do |scope|
              scope.async { @control.run }
              @shift = yield scope, @bell
              @control.tell("ready", Process.pid)
              @shift.run
            end
          ensure
            @shift&.close
            @bell.close
            @control.tell("over", told)
            @control.close
          end

          # @return [Hash{Symbol => Integer}] of all workers: a peer's view, who does not know which one it speaks to
          def statistics = @control.ask("total").transform_keys(&:to_sym)

          # All of them shall end: what a {Io::Bell} is elsewhere.
          def ring(deadline) = @control.tell("stop", deadline.remaining)

          private

          def hear(method, arguments)
            case method
            when "statistics" then told
            when "stop" then @bell.ring(Deadline.after(arguments.first)) && nil
            end
          end

          def told = @shift ? @shift.statistics.transform_keys(&:name) : {}
        end
        private_constant :SharedNumbers, :Scores, :Assignment

        # Seconds between two looks at who has died.
        LOOK = 0.1
        # Seconds beyond the time to end, after which a worker is killed.
        GRACE = 1
        # Of statistics: what has ever happened, also to workers who are gone.
        EVER = %i[requests notifications refused unknown broken done].freeze

        # @param listeners [Array<Io::Listener>]
        # @param bell [Io::Bell] rings when all shall end
        # @yieldparam assignment [Assignment] in a worker, before it begins
        def initialize(options, handler, listeners, bell, &at_work)
          @options = options
          @handler = handler
          @listeners = listeners
          @bell = bell
          @at_work = at_work
          @gone = Hash.new(0)
          @scores = Scores.new(options.workers)
          @posts = Array.new(options.workers) { Post.new { |method, arguments| hear(method, arguments) } }
        end

        def run
          Plait.run(on: :processes, on_error: :collect) do |scope|
            until @bell.rung?
              staff(scope)
              @bell.wait(LOOK)
            end
            dismiss
            scope.cancel
          end
        ensure
          @posts.each(&:hang_up)
        end

        def close = @scores.close

        # @return [Array<Integer>] the workers' processes
        def pids = @posts.filter_map(&:pid)

        # @return [Hash{Symbol => Integer}] of all workers together
        def statistics
          told = @posts.map { |post| post.statistics.transform_keys(&:to_sym) }
          sum = told.reduce(@gone) { |all, one| all.merge(one) { |_, before, more| before + more } }
          { **sum, processes: pids.size, replaced: @posts.sum(&:deaths) }
        end

        private

        # One after the other, see {Post#fill}.
        def staff(scope)
          @posts.each do |post|
            bury(post) if post.lost?
            post.fill(scope) { |socket| work(post, socket) } if post.due? && !@bell.rung?
          end
        end

        def bury(post)
          last = post.statistics.transform_keys(&:to_sym).slice(*EVER)
          @gone = @gone.merge(last) { |_, before, more| before + more }
          post.clear
          @scores.vacate(@posts.index(post))
        end

        # In the worker.
        def work(post, socket)
          (@posts - [post]).each(&:forget)
          @bell.close
          assignment = Assignment.new(socket)
          @at_work.call(assignment)
          @scores.take(@posts.index(post))
          assignment.run(@options) { |scope, bell| Shift.new(scope, @options, @handler, @listeners, bell, scores: @scores) }
        end

        def hear(method, arguments)
          case method
          when "total" then statistics.transform_keys(&:name)
          when "stop" then @bell.ring(Deadline.after(arguments.first)) && nil
          end
        end

        # They have as much time as there is, and a little more for the way.
        def dismiss
          @listeners.each(&:close)
          @posts.each { |post| post.stop(@bell.deadline) }
          give_up = Deadline.new(@bell.deadline.at + GRACE)
          sleep(0.01) until @posts.all? { |post| post.vacant? || post.lost? } || give_up.expired?
        end
      end
      private_constant :Prefork
    end
  end
end
