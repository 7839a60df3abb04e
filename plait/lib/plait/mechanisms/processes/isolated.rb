# frozen_string_literal: true

require "io/wait"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/outcome"
require_relative "answers"
require_relative "cargo"
require_relative "child_process"
require_relative "frame_reader"
require_relative "frames"
require_relative "guard"
require_relative "portable_error"
require_relative "readiness"
require_relative "refusal"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # One call in a child forked for it, for the tasks of {Plait.run}.
      class Isolated
        # Seconds between two looks at whether the child lives.
        LOOK = 0.5
        # Seconds to go on trying while the system refuses a process.
        PATIENCE = 0.3

        # @param block [Proc]
        # @param arguments [Array] passed by fork: they need not be marshalable
        # @return [Object] what the block returns
        # @yield before {UnsupportedError} is raised: the block has not begun
        # @raise [Exception] what it raises
        # @raise [WorkerDied]
        # @raise [UnmarshalableError]
        # @raise [UnsupportedError] when the system does not allow another process
        def self.call(block, arguments, &refused) = new.call(block, arguments, &refused)

        def initialize
          @child = ChildProcess.new("plait task", down: %i[lifeline], up: %i[results bell])
          @reader = FrameReader.new(Frames::ANSWER)
          @buffer = String.new
        end

        # Whatever interrupts the wait interrupts the block too, and ends the child.
        def call(block, arguments, &refused)
          start(refused) { |pipes| perform(pipes, block, arguments) }
          kind, payload = await
          raise PortableError.load(payload) if kind == Frames::ERROR

          give_up(Refusal.of(ThreadError.new(payload)), refused) if kind == Frames::REFUSED
          Cargo.load(payload, "the value of the task")
        ensure
          ChildProcess.stop([@child], terminate: kind.nil?)
        end

        private

        def start(refused, &perform)
          @child.start(patience: PATIENCE, &perform)
        rescue UnsupportedError => e
          give_up(e, refused)
        end

        def give_up(error, refused)
          refused&.call
          raise error
        end

        # In the child.
        def perform(pipes, block, arguments)
          main = Thread.current
          answers = Answers.new(pipes[:results], pipes[:bell])
          guard = Guard.new(pipes[:lifeline], stop: -> { main.raise(Interruption.new) })
          answers.answer(run(block, arguments)) if answers.staff { guard.watch }
        rescue Interruption, Errno::EPIPE
          nil
        ensure
          guard.leave
        end

        def run(block, arguments)
          started = Deadline.now
          Outcome.new(index: 0, item: nil, value: block.call(*arguments), started_at: started, finished_at: Deadline.now)
        rescue Interruption
          raise
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is raised where the value is asked for
          Outcome.new(index: 0, item: nil, error: e, started_at: started, finished_at: Deadline.now)
        end

        def await
          loop do
            over = @child.over?
            data = Readiness.at_once { @child[:results].read_nonblock(@reader.wanted, @buffer, exception: false) }
            if data.is_a?(String)
              @reader.push(data) { |fields, payload| return [fields.first, payload] }
            else
              raise died if over || data.nil?

              @child[:results].wait_readable(LOOK)
            end
          end
        end

        def died
          @child.kill
          WorkerDied.new("the process #{@child.pid} of this task ended before it answered", status: @child.status)
        end
      end
    end
  end
end
