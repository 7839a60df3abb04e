# frozen_string_literal: true

require_relative "../mechanisms/processes/forking"
require_relative "fresh_process/child"

module Plait
  module Lab
    # Runs a block in a process of its own, so that no run inherits another one's heap, caches, threads or open files.
    #
    #   FreshProcess.new(bound: 60).call { |ready| prepare; ready.call; measure }   # => what `measure` returned
    #
    # Where the child calls `ready`, the parent starts its sampler, if it has one, and lets it go on.
    class FreshProcess
      # The block has no result: it raised, or its process died or hung.
      class Failed < Error
        # @return [Symbol] :failed, :unsupported, :died or :hung
        attr_reader :kind

        def initialize(message, kind = :failed)
          super(message)
          @kind = kind
        end
      end

      # The system gives no new process.
      class ForkRefused < UnsupportedError; end

      # Seconds between two looks at whether the child is still alive.
      PULSE = 0.05
      # Errors of a fork that the system refuses: too many processes or threads, no memory, not allowed.
      REFUSALS = [Errno::EAGAIN, Errno::ENOMEM, Errno::EPERM, Errno::EACCES, ThreadError].freeze

      # @return [Boolean] false on JRuby and on Windows
      def self.supported? = Process.respond_to?(:fork)

      # Once, since it takes longer than a short trial.
      def self.warm_up = @warm_up ||= [GC.start, *(Process.warmup if Process.respond_to?(:warmup))]

      # @param bound [Numeric] seconds after which the child counts as hung and is killed
      # @param sampler [#start, #sample, #pause, nil] looks at the child from outside while it measures
      def initialize(bound:, sampler: nil)
        @bound = bound
        @sampler = sampler
      end

      # @yieldparam ready [Proc] to be called when what follows is to be sampled
      # @return [Object] what the block returns; it must be marshalable
      # @raise [Failed] when the block raises, or its process dies or hangs; says which
      # @raise [ForkRefused] when the system gives no process
      def call(&block)
        settle
        mine, theirs = Child.pipes
        # A signal waits until the child is known: it could not be ended.
        Thread.handle_interrupt(SignalException => :never) { @pid = fork_apart { Child.new(theirs, mine).run(block) } }
        theirs.each(&:close)
        adopt
        answer(Mailbox.new(mine.first), mine.last)
      ensure
        bury if @pid
        [mine, theirs].compact.each { |ends| ends.each(&:close) }
      end

      private

      # Copy-on-write: the child would carry the garbage and the buffered text of the parent. What the last trial has left is
      # young; to mark the old objects each time takes 20 ms a trial.
      def settle
        [$stdout, $stderr].each(&:flush)
        FreshProcess.warm_up
        GC.start(full_mark: false)
      end

      # Under a fiber scheduler the child would inherit the parent's event loop and its descriptors.
      def fork_apart(&child)
        return Forking.call(&child) unless Fiber.scheduler

        Thread.new { Forking.call(&child) }.value
      rescue *REFUSALS => e
        raise refused(e.message)
      end

      def refused(reason)
        ForkRefused.new("the system refuses a new process (#{reason}); look at `ulimit -u`, at the container's limit of " \
                        "processes and at free memory")
      end

      # A group of its own: Ctrl-C reaches the parent alone, which then ends the child with everything it started. Both
      # sides say so, because either may run first.
      def adopt
        Process.setpgid(@pid, @pid)
      rescue Errno::EACCES, Errno::ESRCH
        nil
      end

      def answer(mailbox, go)
        deadline = Deadline.after(@bound)
        kind, value = expect(mailbox, deadline)
        if kind == :ready
          release(go)
          kind, value = expect(mailbox, deadline, @sampler)
        end
        raise refused(value) if kind == :refused
        raise Failed.new(*value) if kind == :raised

        value
      end

      def release(go)
        @sampler&.start(@pid)
        go.write(".")
      rescue Errno::EPIPE
        nil # it died meanwhile, which is noticed where its answer is expected
      end

      def expect(mailbox, deadline, sampler = nil)
        loop do
          return mailbox.take if mailbox.wait([sampler&.pause, PULSE].compact.min)

          sampler&.sample
          raise died if over? && !mailbox.wait(0)
          raise hung if deadline.expired?
        end
      end

      # Grandchildren may hold the pipe open after the child is gone, so its end is looked for, not the end of the file.
      def over? = @status ||= Process.wait2(@pid, Process::WNOHANG)&.last

      def died = Failed.new("its process #{how} before it had a result", :died)

      def how
        return "ended with exit status #{@status.exitstatus}" unless @status.signaled?

        name = Signal.signame(@status.termsig)
        "was killed by SIG#{name}#{" (out of memory? `dmesg` would say)" if name == "KILL"}"
      end

      def hung
        Failed.new("it had no result after #{@bound.round(1)} s, so its process was killed (bound: how long it may take)", :hung)
      end

      def bury
        kill_group(@pid)
        @status ||= Process.wait2(@pid).last
      end

      def kill_group(pid)
        Process.kill(:KILL, -pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end
    end

    # Stands in for {FreshProcess} where there is no fork (JRuby, Windows): the block runs right here, one run after the
    # other in the same heap, and nothing ends one that hangs. The report says so.
    class InProcess
      # It takes what {FreshProcess} takes, and has no use for it.
      def initialize(**) = super()

      # @return [Object] what the block returns
      # @raise [FreshProcess::Failed] when the block raises
      def call
        GC.start
        yield -> {}
      rescue UnsupportedError => e
        raise FreshProcess::Failed.new(e.message, :unsupported)
      rescue StandardError, ScriptError, SystemExit, SystemStackError => e
        raise FreshProcess::Failed, Text.of_error(e)
      end
    end

    private_constant :FreshProcess, :InProcess
  end
end
