# frozen_string_literal: true

require_relative "../../mechanisms/processes/forking"

module Plait
  module Lab
    class FreshProcess
      # Reads marshaled values, each after its length, from a pipe whose other end may vanish in the middle of one.
      class Mailbox
        CHUNK = 1 << 16
        LENGTH = "Q>"
        LENGTH_BYTES = 8

        # @param value [Object] marshalable
        # @return [String] as {#take} expects it
        def self.frame(value)
          bytes = Marshal.dump(value)
          [bytes.bytesize].pack(LENGTH) << bytes
        end

        def initialize(pipe)
          @pipe = pipe
          @buffer = String.new
        end

        # @return [Boolean] whether a whole value is here
        def wait(seconds)
          @pipe.wait_readable(seconds) unless whole?
          fill # in any case: with 0 the wait sees nothing while a signal is on its way
          whole?
        end

        # @return [Object] the next value; it must be here
        def take
          bytes = @buffer.slice!(0, LENGTH_BYTES + length)
          Marshal.load(bytes.byteslice(LENGTH_BYTES..))
        end

        private

        def fill
          loop { @buffer << @pipe.read_nonblock(CHUNK) }
        rescue IO::WaitReadable, EOFError
          nil
        end

        def whole? = @buffer.bytesize >= LENGTH_BYTES && @buffer.bytesize >= LENGTH_BYTES + length

        def length = @buffer.unpack1(LENGTH)
      end

      # The child's side: runs the block, sends what came of it, and leaves without the parent's at_exit blocks.
      class Child
        SIGNALS = %w[INT TERM HUP QUIT].freeze

        # @return [Array(Array<IO>, Array<IO>)] the parent's ends and the child's, each: to read from, to write to
        def self.pipes
          answer_reader, answer_writer = IO.pipe(binmode: true)
          go_reader, go_writer = IO.pipe(binmode: true)
          [[answer_reader, go_writer], [go_reader, answer_writer]]
        end

        # @param pipes [Array<IO>] its own ends
        # @param others [Array<IO>] the parent's, which it must not hold open
        def initialize(pipes, others)
          @go, @answers = pipes
          @others = others
        end

        # @return [void] never
        def run(block)
          stand_alone
          @pid = Process.pid
          finish([:value, block.call(method(:ready))]) if watch_parent
        rescue Exception => e # rubocop:disable Lint/RescueException -- the parent reports every failure
          report(e)
        ensure
          leave
        end

        private

        def stand_alone
          Process.setpgid(0, 0)
          # The system's defaults, not Ruby's, which would raise in the middle of a measurement.
          SIGNALS.each { |name| trap(name, "SYSTEM_DEFAULT") }
          @others.each(&:close)
          $stdin.reopen(File::NULL)
        end

        # The end of this pipe means that the parent is gone and no process waits for the result: a body that hangs would
        # otherwise run without end.
        # @return [Boolean] false when the system gives no thread for it
        def watch_parent
          @sign = Queue.new
          watch = Thread.new do
            @sign << @go.read(1)
            exit!(1) unless @go.read(1)
          end
          watch.report_on_exception = false
          true
        rescue ThreadError => e
          send_message([:refused, e.message])
          false
        end

        def ready
          send_message([:ready])
          @sign.pop
        end

        # A body that forks comes back twice.
        def send_message(message)
          return unless Process.pid == @pid

          @answers.write(Mailbox.frame(message))
          @answers.flush
        end

        # The parent kills the process once it has the answer.
        def finish(answer)
          FileBuffers.write_out if Process.pid == @pid
          send_message(answer)
        end

        def report(error)
          finish([:raised, [Text.of_error(error), kind(error)]])
        rescue SystemCallError, IOError
          nil
        rescue StandardError, SystemStackError # of an error that can't say what it is
          send_message([:raised, ["#{error.class}, whose message can't be had", kind(error)]])
        end

        def kind(error) = error.is_a?(UnsupportedError) ? :unsupported : :failed

        def leave
          [$stdout, $stderr].reject(&:closed?).each(&:flush)
        ensure
          exit!(0)
        end
      end
    end
  end
end
