# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # A {Port} for Ruby 3.1 to 3.4. The far end writes its number into a pipe, then offers the report in Ractor.yield. So
      # the main ractor waits at the pipe and not at a ractor: up to Ruby 3.2 all threads of a ractor share one place to
      # wait at (`sync.wait` in ractor_core.h), and a thread of ours there would take, or lose, what the program's own
      # Ractor#take or Ractor.receive waits for. The pipe costs nothing that could be measured (3.1.2: 50 µs with and
      # without).
      class PipePort
        GONE = 1 << 31
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
        end

        # @return [IO] for Ractor.new, which copies it
        def address = @writer

        # @param number [Integer] of the worker
        # @param ractor [Ractor]
        def attach(number, ractor) = @ractors[number] = ractor

        # Waits. For one thread only.
        # @return [Array(Integer, Array), Array(Integer, nil), nil]
        def receive
          code = @reader.read(4).unpack1("L")
          return if code == WAKE
          return [code - GONE, nil] if code >= GONE

          [code, take(@ractors.fetch(code))]
        end

        # Makes {#receive} return nil.
        def wake = @writer.write_nonblock([WAKE].pack("L"))

        def close
          @reader.close
          @writer.close
        end

        private

        # An interrupted ractor may end instead of offering what it has announced.
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
          def initialize(writer, number)
            @writer = writer
            @number = number
          end

          # @param report [Array] shareable or copied
          # @yieldparam error [StandardError] why it can't be copied
          # @yieldreturn [Array] what to offer instead
          def put(report)
            announce(@number)
            ::Ractor.yield(report)
          rescue StandardError => e
            ::Ractor.yield(yield(e))
          end

          def gone
            announce(@number + GONE)
            @writer.close
          end

          private

          # The pool may have given this ractor up, and closed. Not `write`: in it Ruby counts the ractor as blocked.
          def announce(code)
            @writer.write_nonblock([code].pack("L"))
          rescue Errno::EPIPE
            nil
          end
        end
      end
    end
  end
end
