# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Where the ractors of one pool put their results, and one thread of the main ractor takes them. The only place that
      # knows how: Ruby 4.0 has Ractor::Port and no longer Ractor.yield and Ractor#take, which the Rubies before have.
      #
      # A port says `[number, report]`, `[number, nil]` when that ractor is about to end, and nil after {#wake}.
      # `Port.for(address, number)` is its other end, in the ractor.
      module Port
        # @return [PipePort, NativePort]
        def self.open = defined?(::Ractor::Port) ? NativePort.new : PipePort.new

        # Called in a ractor.
        # @param address [Object] of the port
        def self.for(address, number) = address.is_a?(::IO) ? PipePort::Far.new(address, number) : NativePort::Far.new(address, number)
      end

      # Ruby 3.1 to 3.4. The far end writes its number into a pipe, then waits in Ractor.yield. So the main ractor waits
      # at the pipe and never for a ractor: up to Ruby 3.2 all threads of a ractor share one place to wait at (`sync.wait`
      # in ractor_core.h), and a thread of ours there would take, or lose, what the program's own Ractor#take waits for.
      class PipePort
        GONE = 1 << 31
        WAKE = GONE - 1
        # Ruby 3.3 gave each thread its own place, and ractors that wait began to call themselves running.
        ONE_PLACE = RUBY_VERSION < "3.3"
        # Takes of several pools, one at a time, for the same reason.
        TAKES = Thread::Mutex.new
        # Seconds between looks at a ractor that has announced a result and not yet offered it: it is copying it. In all
        # 25 ms; after them its own threads may be what keeps it running, and it is taken as ready.
        PAUSES = [0, 0.0001, 0.0003, 0.001, 0.003, 0.008, 0.0126].freeze

        def initialize
          @reader, @writer = IO.pipe(binmode: true)
          @ractors = {}
        end

        # @return [IO] to be given to `Ractor.new`, which copies it
        def address = @writer

        def attach(number, ractor) = @ractors[number] = ractor

        # Waits. Called in one thread only.
        # @return [Array, nil]
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

        # Its own end is what a ractor yields last (nil, or an error nobody expects): then {Far#gone} follows or came.
        def take(ractor)
          TAKES.synchronize do
            PAUSES.each { |pause| running?(ractor) ? sleep(pause) : break } if ONE_PLACE
            ractor.take
          end
        rescue ::Ractor::ClosedError, ::Ractor::RemoteError
          nil
        end

        def running?(ractor) = ractor.inspect.end_with?("running>")

        # In the ractor.
        class Far
          def initialize(writer, number)
            @writer = writer
            @number = number
          end

          # @yieldparam error [StandardError] why the report can't be copied
          # @yieldreturn [Object] what to send instead
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

          # The pool may have given this ractor up, and closed.
          def announce(code)
            @writer.write_nonblock([code].pack("L"))
          rescue Errno::EPIPE
            nil
          end
        end
      end

      # Ruby 4.0 and later.
      class NativePort
        # @return [Ractor::Port]
        attr_reader :address

        def initialize
          @address = ::Ractor::Port.new
        end

        def attach(_number, _ractor) = nil

        # Waits. Called in one thread only.
        # @return [Array, nil]
        def receive = @address.receive

        # Makes {#receive} return nil.
        def wake = @address.send(nil)

        def close = @address.close

        # In the ractor.
        class Far
          def initialize(port, number)
            @port = port
            @number = number
          end

          # @yieldparam error [StandardError] why the report can't be copied
          # @yieldreturn [Object] what to send instead
          def put(report)
            @port.send([@number, report])
          rescue ::Ractor::ClosedError
            nil
          rescue StandardError => e
            @port.send([@number, yield(e)])
          end

          def gone
            @port.send([@number, nil])
          rescue ::Ractor::ClosedError
            nil
          end
        end
      end
    end
  end
end
