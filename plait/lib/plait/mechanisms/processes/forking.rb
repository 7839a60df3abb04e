# frozen_string_literal: true

require_relative "../base"
require "fcntl"
require_relative "../patches"

module Plait
  # Process.fork that comes back when the system gives no process (`ulimit -u`, the pids.max of a container). Ruby's own
  # sleeps for a second inside of Process._fork and tries again without end (handle_fork_error in process.c).
  module Forking
    # Raised in the forking thread.
    class Refused < Mechanisms::Interruption; end
    # Seconds between two looks at the forking thread.
    LOOK = 0.02
    # Seconds that Ruby has for its next try, where nothing goes on without the process.
    PATIENCE = 1.2
    # Where Ruby waits for its next try.
    ASLEEP_IN = "_fork"

    class << self
      # Whatever a hook around Process._fork or an early signal raises, the child never goes on in its parent's program.
      # @param patience [Numeric] seconds to go on trying
      # @param copied [Array<IO>] what {flush} has returned
      # @yield in the child, as in Process.fork; it ends with `exit!`
      # @return [Integer] its pid
      # @raise [SystemCallError] Errno::EAGAIN when the system gives no process
      # @raise [ThreadError] when it gives not even a thread, which counts as much
      def call(patience: PATIENCE, copied: flush, &child)
        parent = Native.fork_generation
        Thread.handle_interrupt(SignalException => :never) do
          watched(patience) { branch(patience, copied, &child) }
        ensure
          exit!(1) if Native.fork_generation != parent
        end
      rescue Refused, SystemCallError => e # Ruby makes an error of its own of what ends its sleep
        raise unless [e, e.cause].any?(Refused)

        @refused_at = Deadline.now
        raise Errno::EAGAIN, "fork(2)", cause: nil
      end

      # @param moment [Float] monotonic seconds
      # @return [Boolean] whether the system has refused a process after it
      def refused_since?(moment) = (@refused_at || 0.0) > moment

      # As Ruby does before it forks: there, waiting for their readers would look like a refusal.
      # @return [Array<IO>] see {FileBuffers.flush}
      def flush
        [$stdout, $stderr].each(&:flush)
        FileBuffers.flush
      end

      private

      # Before Ruby 3.2 a fork drops, in the parent, what its thread is still to be raised.
      def branch(patience, copied, &child)
        if RUBY_VERSION < "3.2" && Thread.current.pending_interrupt?
          return Thread.new { (Thread.current.report_on_exception = false) || call(patience:, copied:, &child) }.value
        end

        Process.fork do
          FileBuffers.drop(copied)
          Patches.leave_loop
          Thread.handle_interrupt(SignalException => :immediate, &child)
        ensure
          exit!(1)
        end
      end

      def watched(patience, &fork)
        watcher = watch(Thread.current, patience)
        Thread.handle_interrupt(Refused => :never) do
          # Ruby's sleep is the one place where it waits: a fork that has succeeded just now is not lost.
          Thread.handle_interrupt(Refused => :on_blocking, &fork)
        ensure
          end_watch(watcher)
        end
      end

      def watch(forker, patience)
        Thread.new do
          sleep(LOOK) until asleep?(forker)
          sleep(patience)
          sleep(LOOK) until asleep?(forker)
          forker.raise(Refused)
        end
      end

      def asleep?(forker) = forker.stop? && forker.backtrace_locations(0, 1)&.first&.base_label == ASLEEP_IN

      # What it has raised too late is dropped.
      def end_watch(watcher)
        watcher.kill.join
        Thread.handle_interrupt(Refused => :immediate) { Thread.pass } if Thread.pending_interrupt?
      rescue Refused
        nil
      end
    end
  end

  # The bytes that Ruby holds back of what was written to a File. Fork copies them, and `exit!` drops them.
  module FileBuffers
    # Ruby's own, also of an IO whose class has others.
    CLOSE = IO.instance_method(:close)
    FLUSH = IO.instance_method(:flush)
    WRITE_OUT = (IO.instance_method(:fdatasync) if IO.method_defined?(:fdatasync)) # JRuby has neither this nor fork
    # Seconds for other threads to rest, and between two looks: most are about to. Raising it delays forks beside a thread that
    # computes, while a File is open for writing.
    REST = 0.05
    PAUSE = 0.002
    # Where a thread may have the lock of a File.
    WRITING = %w[write puts print printf putc << p flush fsync fdatasync close].freeze

    class << self
      # In the parent, before a fork: its bytes come before the child's. Regular files only: a FIFO may block. Not
      # beside a thread that runs: where it appends again and again while this one writes out, Ruby 3.1 moves the bytes under
      # the write, and some are written twice and others lost. Nor beside one that is writing: the lock of a File is not
      # fair, and beside a thread that takes it again and again this one may wait without end (Ruby 3.3 and later).
      # @return [Array<IO>] of which the child may get a copy of bytes
      def flush
        limit = Deadline.after(REST)
        buffered.each { |io| attempt { FLUSH.bind_call(io) if io.stat.file? && quiet_by?(limit) } }
      end

      # In the child, first of all: what the parent still holds back is the parent's to write. Of all methods that write
      # out, fdatasync alone keeps what was read ahead.
      # @param ios [Array<IO>] what {.flush} has returned; without the extension a parent with ractors finds none
      def drop(ios) = (defined?(NativeFiles) ? ios : buffered).each { |io| attempt { redirect(io) { WRITE_OUT.bind_call(io) } } }

      # In the child, before `exit!`. A flush of what can be read, too, moves the offset that the parent shares; a close
      # does not.
      def write_out
        buffered.each do |io|
          access(io) == Fcntl::O_RDWR ? CLOSE.bind_call(io) : FLUSH.bind_call(io)
        rescue IOError
          nil # closed meanwhile
        rescue SystemCallError => e
          warn "plait: a worker process lost the end of what it wrote to #{io.inspect}: #{e.message}"
        end
      end

      private

      def quiet_by?(limit)
        sleep(PAUSE) until (found = quiet?) || limit.expired?
        found
      end

      def quiet? = (Thread.list - [Thread.current]).all? { |thread| thread.stop? && !writing?(thread) }

      def writing?(thread) = WRITING.include?(thread.backtrace_locations(0, 1)&.first&.base_label)

      # A terminal is open for writing as standard input, too; Ruby 3.1 crashes when that is redirected.
      # @return [Array<IO>] open for writing, and not in sync mode
      def buffered
        all.select do |io|
          !io.closed? && !io.sync && access(io) != Fcntl::O_RDONLY && io.fileno != STDIN.fileno
        rescue IOError, SystemCallError
          false # not opened yet
        end
      end

      def all = defined?(NativeFiles) ? NativeFiles.list : ObjectSpace.each_object(IO)

      def access(io) = io.fcntl(Fcntl::F_GETFL) & Fcntl::O_ACCMODE

      # Where it fails, the parent meets the same error itself.
      def attempt
        yield
      rescue IOError, SystemCallError
        nil
      end

      # What the descriptor refers to changes, and Ruby does not notice: its own `reopen` would write out first.
      def redirect(io)
        descriptor = IO.for_fd(io.fileno, "w", autoclose: false)
        close_on_exec = descriptor.close_on_exec?
        file = descriptor.dup
        File.open(File::NULL, "w") { |null| descriptor.reopen(null) }
        yield
      ensure
        if file
          descriptor.reopen(file)
          descriptor.close_on_exec = close_on_exec
          file.close
        end
        descriptor&.close # the number stays open
      end
    end
  end

  # Says why there is no further process, and what to do.
  module Refusal
    TOO_MANY = "too many processes or threads; raise what is allowed (ulimit -u, pids.max) or lower limit:"
    FILES = [Errno::EMFILE, Errno::ENFILE].freeze

    class << self
      # @param reason [Exception] what the system said
      # @return [UnsupportedError] whose cause it is
      def of(reason)
        raise UnsupportedError, "can't start a worker process (#{reason.message}): #{advice(reason)}", cause: reason
      rescue UnsupportedError => e
        e
      end

      private

      def advice(reason)
        case reason
        when Errno::EAGAIN, ThreadError then TOO_MANY
        when Errno::ENOMEM then "not enough memory; lower limit:"
        when *FILES then "too many open files; raise what is allowed (ulimit -n) or lower limit:"
        else "use on: :threads"
        end
      end
    end
  end
  private_constant :Forking, :FileBuffers, :Refusal
end
