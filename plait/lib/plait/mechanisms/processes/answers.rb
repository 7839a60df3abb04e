# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: writes to the parent.
      #
      # Each answer is in the pipe before the next item begins. The kernel keeps it if the worker is killed, so the first
      # item without an answer is exactly the one that was being run, and no finished item is ever run again. It costs
      # 0.55 µs an item here: the parent does not wait for this pipe but for the wake-up pipe, which gets a byte once a
      # batch. (Marks in an IO::Buffer shared by mmap cost 0.05 µs, but only show that an answer is lost. With pwrite to a
      # file, 0.7 µs.)
      class Answers
        # Bytes that the parent has not been woken for, from which it is: a quarter of what the pipe takes.
        UNREAD = 16_384
        FRAME = "#{Frames::ANSWER.format}a*".freeze

        # @param wakeup [IO] a byte in it wakes the parent
        def initialize(pipe, wakeup)
          @pipe = pipe
          @wakeup = wakeup
          @lock = Thread::Mutex.new
          @unread = 0
        end

        # @return [Boolean] false: it can't travel, and the answer is an error
        def value(index, value)
          write([Frames::VALUE, 0, 1, index, 0.0, 0.0], Portable::Value.dump(value, "the result"))
          true
        rescue UnmarshalableError => e
          write([Frames::ERROR, 0, 1, index, 0.0, 0.0], Portable::Error.dump(e))
          false
        end

        def answer(outcome)
          stream = outcome.worker
          error = outcome.error
          payload = error ? Portable::Error.dump(error) : Portable::Value.dump(outcome.value, "the result")
          write([error ? Frames::ERROR : Frames::VALUE, stream.is_a?(Integer) ? stream : 0, outcome.attempts,
                 outcome.index, outcome.started_at, outcome.finished_at], payload)
        rescue UnmarshalableError => e
          write([Frames::ERROR, 0, outcome.attempts, outcome.index, outcome.started_at, outcome.finished_at],
                Portable::Error.dump(e))
        end

        # @param number [Integer] of the attempt, from 1
        # @param clock [Float] monotonic seconds from which its time limits count; 0.0: they don't
        def attempt(index, number, clock = 0.0)
          # An interruption that strikes here would leave half a frame.
          Interruption.hold { write([Frames::ATTEMPT, 0, number, index, clock, 0.0], "") }
        end

        # @param indexes [Array<Integer>] of items that were taken out of the queue
        def returned(indexes)
          write([Frames::RETURNED, 0, 0, 0, 0.0, 0.0], indexes.pack("Q*"))
          wake_parent
        end

        def crash(error) = final_report(Frames::CRASH, "#{error.class}: #{error.message}")

        # @yield starts the threads that this process can't do without
        # @return [Boolean] false when the system gives none; the parent knows
        def start_threads
          yield
          true
        rescue ThreadError => e
          final_report(Frames::REFUSED, e.message)
          false
        end

        # Wakes the parent. A full pipe means that it has not read the earlier bytes.
        def wake_parent
          @unread = 0
          Readiness.write(@wakeup, "!")
        end

        private

        def final_report(kind, text)
          write([kind, 0, 0, 0, 0.0, 0.0], text.b)
          wake_parent
        end

        def write(fields, payload)
          size = payload.bytesize
          large = size > Frames::LARGE
          frame = fields.push(size, large ? "" : payload).pack(FRAME)
          @lock.synchronize do
            push(frame)
            push(payload) if large
          end
        end

        # The parent may be asleep while the pipe is full.
        def push(bytes)
          written = Readiness.write(@pipe, bytes)
          wake_parent if (@unread += bytes.bytesize) >= UNREAD
          return if written == bytes.bytesize

          wake_parent
          written = 0 if written == :wait_writable
          Readiness.at_once { @pipe.write(bytes.byteslice(written, bytes.bytesize - written)) }
        end
      end

      # In a child: a thread that listens to the parent while the main thread runs items, and sees to it that the child
      # ends when the parent says so, or when there is no parent any more.
      #
      # The kernel could kill it with its parent (prctl PR_SET_PDEATHSIG), but does so as soon as the *thread* that forked
      # ends, and `ensure` blocks would not run.
      class Guard
        # Seconds between two looks at the parent's pid: a process forked by the body of an item may hold our pipes open.
        LOOK = 1.0

        # @param lifeline [IO] a byte in it is a recall; its end is the parent's
        # @param stop [#call] interrupts what runs, so that the main thread ends; called once, on another thread
        # @param more [Hash{IO => #call}] others to listen to; the callable returns whether to go on
        def initialize(lifeline, stop:, recall: nil, more: {})
          @lifeline = lifeline
          @stop = [stop]
          @recall = recall
          @more = more
          @parent = Process.ppid
        end

        def stopped? = @stopped

        # Ctrl-C reaches every process of the terminal: what it means is the parent's decision. A block and not "IGNORE",
        # which programs started by the body would inherit. TERM acts on a thread of its own, because an exception raised
        # in a trap would break through the masks of Thread.handle_interrupt. What a body forks inherits both, and gets
        # what is Ruby's default.
        # @raise [ThreadError] when the system gives no thread
        def watch
          parent = Native.fork_generation
          trap("INT") { raise Interrupt if Native.fork_generation != parent }
          trap("TERM") { Native.fork_generation == parent ? stop_soon : raise(SignalException, "SIGTERM") }
          @thread = Thread.new { listen }
          @thread.name = "plait guard"
          self
        end

        # Ends this process as TERM would have done, if the parent has ended it. (Ruby's own "DEFAULT" raises.)
        def leave
          return unless @stopped

          Interruption.hold { FileBuffers.write_out } # its cause may still be on its way
          trap("TERM", "SYSTEM_DEFAULT")
          Process.kill(:TERM, Process.pid)
          sleep
        end

        private

        def stop_soon
          Thread.new { stop }
        rescue ThreadError # the system gives none
          @thread&.raise(IOError, "asked to end")
        end

        # SIGTERM and the end of the lifeline come at about the same time, each on its own thread. A second interruption would
        # cut short the ensure block of an item.
        def stop
          stop = @stop.shift or return # one call in C: no other thread gets between
          @stopped = true
          stop.call
        end

        def listen
          loop do
            ready, = IO.select([@lifeline, *@more.keys], nil, nil, LOOK)
            ready ? ready.each { |io| hear(io) } : (orphaned if Process.ppid != @parent)
          end
        rescue IOError, SystemCallError
          orphaned # a body has closed a pipe of ours
        end

        def hear(io)
          return hear_parent if io == @lifeline

          @more.delete(io) unless @more[io].call
        end

        def hear_parent
          heard = @lifeline.read_nonblock(16, exception: false)
          return orphaned if heard.nil?

          @recall.call if @recall && heard.is_a?(String)
        end

        def orphaned
          stop
          sleep(ChildProcess::GRACE)
          exit!(1)
        end
      end
    end
  end
end
