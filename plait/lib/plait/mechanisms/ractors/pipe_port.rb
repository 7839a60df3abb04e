# frozen_string_literal: true

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # A {Port} for Ruby 3.1 to 3.4. The far end writes its number into a pipe, then offers the report in Ractor.yield. So
      # the main ractor waits at the pipe and not at a ractor: up to Ruby 3.2 all threads of a ractor share one place to
      # wait at (`sync.wait` in ractor_core.h), and a thread of ours there would take, or lose, what the program's own
      # Ractor#take or Ractor.receive waits for. The pipe costs nothing that could be measured (3.1.2: 50 µs with and
      # without). Small plain results go through it as they are.
      class PipePort
        # What a ractor writes: its number, or that and one of these; its attempts when it is gone, or the bytes of the
        # report that are still to come; the bytes that follow.
        HEADER = "LLL"
        SIZE = 12
        GONE = 1 << 31
        # A piece of the report follows.
        ENCLOSED = 1 << 30
        WAKE = GONE - 1
        ONE_PLACE = RUBY_VERSION < "3.3"
        # For the same reason, pools take one at a time.
        TAKES = Thread::Mutex.new
        # Seconds between looks at a ractor that has announced a report and does not offer it yet: it copies it. They are 25
        # ms; after that its own threads may be what keeps it running. Not on Ruby 3.3, where one that waits says "running".
        PAUSES = [0, 0.0001, 0.0003, 0.001, 0.003, 0.008, 0.0126].freeze

        def initialize
          @reader, @writer = IO.pipe(binmode: true)
          @ractors = {}
          @pieces = Hash.new { |pieces, number| pieces[number] = String.new }
        end

        # @return [IO] for Ractor.new, which copies it
        def address = @writer

        # @param number [Integer] of the worker
        def attach(number, ractor) = @ractors[number] = ractor

        # Waits. For one thread only.
        def receive
          loop do
            code, count, bytes = @reader.read(SIZE).unpack(HEADER)
            return if code == WAKE
            return [code - GONE, count] if code >= GONE
            return [code, take(@ractors.fetch(code))] if code < ENCLOSED

            @pieces[code - ENCLOSED] << @reader.read(bytes)
            return [code - ENCLOSED, Marshal.load(@pieces.delete(code - ENCLOSED))] if count.zero?
          end
        end

        # Makes {#receive} return nil.
        def wake = @writer.write_nonblock([WAKE, 0, 0].pack(HEADER))

        def close
          @reader.close
          @writer.close
        end

        private

        # An interrupted ractor may end instead of offering the report that it has announced.
        def take(ractor)
          TAKES.synchronize do
            await_offer(ractor) if ONE_PLACE
            ractor.take
          end
        rescue ::Ractor::ClosedError, ::Ractor::RemoteError
          nil
        end

        def await_offer(ractor)
          PAUSES.find do |pause|
            sleep(pause) if (running = ractor.inspect.end_with?("running>"))
            !running
          end
        end

        # In the ractor.
        class Far
          # Bytes that every system writes into a pipe in one piece (POSIX's PIPE_BUF), without the header.
          PIECE = 512 - SIZE
          # Bytes that go through the pipe rather than through Ractor.yield.
          SMALL = 16_384
          # Seconds between two looks at a pipe that is full.
          FULL = 0.0005

          def initialize(writer, number)
            @writer = writer
            @number = number
          end

          # @param report [Array] shareable or copied
          # @yieldparam error [StandardError] why it can't be copied
          # @yieldreturn [Array] to be offered instead
          def put(report)
            bytes = enclosed(report)
            return post(bytes) if bytes

            announce(@number)
            ::Ractor.yield(report)
          rescue StandardError => e
            ::Ractor.yield(yield(e))
          end

          def gone(attempts)
            announce(@number + GONE, attempts)
            @writer.close
          end

          private

          def post(bytes)
            rest = bytes.bytesize
            until rest.zero?
              piece = bytes.byteslice(-rest, PIECE)
              announce(@number + ENCLOSED, rest -= piece.bytesize, piece)
            end
          end

          # The pool may have given this ractor up, and closed. Not `write`: in it Ruby counts the ractor as blocked.
          def announce(code, count = 0, piece = "")
            frame = [code, count, piece.bytesize].pack(HEADER) << piece
            sleep(FULL) while @writer.write_nonblock(frame, exception: false) == :wait_writable
          rescue Errno::EPIPE
            nil
          end

          # Through the pipe no ractor waits until such a report is taken; in Ractor.yield it would. (And on
          # Ruby 3.3.8, when a pool is closed, Ractor.yield and Ractor#take at times never meet.)
          # @return [String, nil] of a report that is small, and the same as bytes and as a copy
          def enclosed(report)
            _, value, error = report
            return unless plain?(error) && plain?(value)

            bytes = Marshal.dump(report)
            bytes if bytes.bytesize <= SMALL
          end

          def plain?(value)
            case value
            when nil, true, false, Float then true
            when Integer then value.bit_length < SMALL
            when String then value.bytesize < SMALL && bare?(value)
            end
          end

          # A frozen one is shared, not copied.
          def bare?(text)
            text.instance_of?(String) && !text.frozen? && text.singleton_methods.empty? && text.instance_variables.empty?
          end
        end
      end
    end
  end
end
