# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "../../values/errors"
require_relative "cargo"
require_relative "frames"
require_relative "portable_error"
require_relative "readiness"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: writes to the parent.
      #
      # Each answer is in the pipe before the next item begins. The kernel keeps it if the worker is killed, so the first
      # item without an answer is exactly the one that was being run, and no finished item is ever run again. It costs
      # 0.55 µs an item here: the parent does not wait for this pipe but for the bell, which is rung once a batch, so
      # nobody is woken. (Marks in an IO::Buffer shared by mmap cost 0.05 µs, but only tell that an answer is lost. With
      # pwrite to a file, 0.7 µs.)
      class Answers
        FRAME = "#{Frames::ANSWER.format}a*".freeze
        private_constant :FRAME

        # @param pipe [IO]
        # @param bell [IO] a byte in it wakes the parent
        def initialize(pipe, bell)
          @pipe = pipe
          @bell = bell
          @lock = Thread::Mutex.new
        end

        # @param outcome [Outcome]
        def answer(outcome)
          lane = outcome.worker
          error = outcome.error
          payload = error ? PortableError.dump(error) : Cargo.dump(outcome.value, "the result")
          write([error ? Frames::ERROR : Frames::VALUE, lane.is_a?(Integer) ? lane : 0, outcome.attempts,
                 outcome.index, outcome.started_at, outcome.finished_at], payload)
        rescue UnmarshalableError => e
          write([Frames::ERROR, 0, outcome.attempts, outcome.index, outcome.started_at, outcome.finished_at],
                PortableError.dump(e))
        end

        # @param total [Integer] items that have arrived so far
        def received(total) = write([Frames::RECEIVED, 0, 0, total, 0.0, 0.0], "")

        # @param number [Integer] of the attempt, from 1
        # @param clock [Float] monotonic seconds from which its time limits count; 0.0: they don't
        def attempt(index, number, clock = 0.0)
          # An interruption that strikes here would leave half a frame.
          Thread.handle_interrupt(Interruption => :never) { write([Frames::ATTEMPT, 0, number, index, clock, 0.0], "") }
        end

        # @param indexes [Array<Integer>] of items that were taken out of the queue
        def returned(indexes)
          write([Frames::RETURNED, 0, 0, 0, 0.0, 0.0], indexes.pack("Q*"))
          ring
        end

        # @param error [Exception]
        def crash(error) = last_words(Frames::CRASH, "#{error.class}: #{error.message}")

        # @yield starts the threads that this process can't do without
        # @return [Boolean] false when the system gives none; the parent knows
        def staff
          yield
          true
        rescue ThreadError => e
          last_words(Frames::REFUSED, e.message)
          false
        end

        # Wakes the parent. A full pipe means that it has not even heard the earlier rings.
        def ring = @bell.write_nonblock("!", exception: false)

        private

        def last_words(kind, text)
          write([kind, 0, 0, 0, 0.0, 0.0], text.b)
          ring
        end

        def write(fields, payload)
          size = payload.bytesize
          large = size > Frames::LARGE
          frame = fields.push(size, large ? "" : payload).pack(FRAME)
          Readiness.at_once do
            @lock.synchronize do
              push(frame)
              push(payload) if large
            end
          end
        end

        # The parent may be asleep while the pipe is full.
        def push(bytes)
          written = @pipe.write_nonblock(bytes, exception: false)
          return if written == bytes.bytesize

          ring
          written = 0 if written == :wait_writable
          @pipe.write(bytes.byteslice(written, bytes.bytesize - written))
        end
      end
    end
  end
end
