# frozen_string_literal: true

require "io/wait"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "child_process"
require_relative "file_buffers"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a child: a thread that listens to the parent while the main thread runs items, and sees to it that the child
      # ends when it is told to, or when there is no parent any more.
      #
      # The kernel could kill it with its parent (prctl PR_SET_PDEATHSIG), but does so as soon as the *thread* that forked
      # ends, and `ensure` blocks would not run.
      class Guard
        # Seconds between two looks at who the parent is: a process forked by the body of an item may hold our pipes open.
        LOOK = 1.0

        # @param lifeline [IO] a byte in it is a recall; its end is the parent's
        # @param stop [#call] interrupts what runs, so that the main thread ends; called once, on another thread
        # @param recall [#call]
        # @param more [Hash{IO => #call}] others to listen to; the callable returns whether to go on
        def initialize(lifeline, stop:, recall: nil, more: {})
          @lifeline = lifeline
          @stop = stop
          @recall = recall
          @more = more
          @parent = Process.ppid
        end

        def stopped? = @stopped

        # Ctrl-C reaches every process of the terminal: what it means is the parent's decision. A block and not "IGNORE",
        # which programs started by the body would inherit. TERM acts on a thread of its own, because an exception raised
        # in a trap would break through the masks of Thread.handle_interrupt. What a body forks inherits both, and gets
        # what is Ruby's default.
        # @return [self]
        # @raise [ThreadError] when the system gives no thread
        def watch
          pid = Process.pid
          trap("INT") { raise Interrupt if Process.pid != pid }
          trap("TERM") { Process.pid == pid ? stop_soon : raise(SignalException, "SIGTERM") }
          @thread = Thread.new { listen }
          @thread.name = "plait guard"
          self
        end

        # Ends this process as TERM would have done, if it was told to end. (Ruby's own "DEFAULT" raises.)
        def leave
          return unless @stopped

          Thread.handle_interrupt(Interruption => :never) { FileBuffers.write_out } # its cause may still be on its way
          trap("TERM", "SYSTEM_DEFAULT")
          Process.kill(:TERM, Process.pid)
          sleep
        end

        private

        def stop_soon
          Thread.new { stop }
        rescue ThreadError # the system gives none
          @thread&.raise(IOError, "told to end")
        end

        def stop
          return if @stopped

          @stopped = true
          @stop.call
        end

        def listen
          loop do
            ready, = IO.select([@lifeline, *@more.keys], nil, nil, LOOK)
            ready ? ready.each { |io| hear(io) } : (orphaned if Process.ppid != @parent)
          end
        rescue IOError, SystemCallError
          orphaned # a body has closed what is not its own
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
