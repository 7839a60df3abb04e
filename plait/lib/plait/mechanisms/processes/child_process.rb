# frozen_string_literal: true

module Plait
  module Mechanisms
    class Processes < Mechanism
      # A forked child and the pipes between it and us.
      class ChildProcess
        # Seconds that a child has for the `ensure` blocks of its bodies before it is killed.
        GRACE = 2.0
        # Seconds for a child whose bodies are all over to write out what its files hold, and to end.
        LEAVING = 60.0
        FIRST_PAUSE = 0.0005
        LONGEST_PAUSE = 0.02
        # Bytes read at once.
        MOST = 65_536

        # Ends several children at once and waits for them together; in the end none is left, also after an interrupt.
        # @param terminate [Boolean] interrupt their items; else they end because their pipes do
        # @yield when all are dead and before their pipes are closed: their last answers may be read
        def self.stop(children, terminate: true)
          children.each(&:terminate) if terminate
          children.each(&:hang_up)
          await(children, terminate ? GRACE : LEAVING)
        ensure
          Readiness.uninterruptible do
            children.each(&:kill)
            yield if block_given?
            children.each(&:close)
          end
        end

        def self.await(children, seconds)
          deadline = Deadline.after(seconds)
          pause = FIRST_PAUSE
          until children.all?(&:over?) || deadline.expired?
            sleep(pause)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
        end

        attr_reader :pid
        # @return [Process::Status, nil] nil too when other code has waited for it
        attr_reader :status

        # @param title [String] its name in the list of processes
        # @param down [Array<Symbol>] names of the pipes from us to the child
        # @param up [Array<Symbol>] names of the pipes from the child to us
        # @param kept [Array<Symbol>] the names of `down` that {#unread} may be asked for
        def initialize(title, down:, up:, kept: [])
          @title = title
          @names = { down: down, up: up }
          @kept = kept.to_h { |name| [name, nil] }
          @ends = {}
        end

        # @return [IO] our end of a pipe
        def [](name) = @ends[name]

        # Forks. A fresh thread does it: it becomes the main thread of the child, which thus has neither the fiber
        # scheduler nor the thread-locals nor the stack of the caller.
        # @param patience [Numeric] seconds to go on trying while the system refuses
        # @yieldparam pipes [Hash{Symbol => IO}] in the child: its ends
        # @raise [UnsupportedError] when the system does not allow another process
        def start(patience: Forking::PATIENCE, &body)
          RailsExecution.between_reloads { start_launcher(patience, &body) }
          self
        rescue ThreadError => e
          raise Refusal.of(e)
        end

        # Takes what a dead child has left in a pipe.
        # @return [Integer] bytes
        def unread(name)
          count = 0
          while (data = Readiness.read(@kept.fetch(name), MOST)).is_a?(String)
            count += data.bytesize
          end
          count
        end

        # @return [Boolean] whether it has ended; does not wait
        def over? = @over || @pid.nil? || reap(Process::WNOHANG)

        # Waits for the end.
        def wait
          reap(0) unless @over || @pid.nil?
          @status
        end

        # Asks it to interrupt what it runs and to end.
        def terminate = signal(:TERM)

        def kill
          return if over?

          signal(:KILL)
          wait
        end

        # Closes what leads to the child, which it takes for the end.
        def hang_up = close_ends(@names[:down])

        def close
          close_ends(@ends.keys)
          Descriptors.close(@kept.values.compact)
          @kept.clear
        end

        private

        def close_ends(names) = Descriptors.close(names.filter_map { |name| @ends.delete(name) })

        def start_launcher(patience, &body)
          asked_at = Deadline.now
          copied = Forking.flush # here: the other thread would find this one running
          launcher = Thread.new { launch(patience, asked_at, copied, &body) }
          launcher.report_on_exception = false
          launcher.join
        ensure
          @called_off = true
          launcher&.join # an Interrupt must not lose a child that is just being born
        end

        def launch(patience, asked_at, copied, &body)
          Descriptors.exclusively do
            return if @called_off
            raise Errno::EAGAIN, "fork(2)" if Forking.refused_since?(asked_at) # to a thread that held the lock before

            theirs = open_pipes
            @pid = Forking.call(patience: patience, copied: copied) { live(theirs, &body) }
            @kept.each_key { |name| @kept[name] = theirs.delete(name) }
            Descriptors.hold([*@ends.values, *@kept.values])
          ensure
            theirs&.each_value(&:close)
          end
        rescue SystemCallError, ThreadError, NotImplementedError => e
          @ends.each_value(&:close)
          raise Refusal.of(e)
        end

        def open_pipes
          theirs = {}
          @names[:down].each { |name| theirs[name], @ends[name] = IO.pipe(binmode: true) }
          @names[:up].each { |name| @ends[name], theirs[name] = IO.pipe(binmode: true) }
          theirs
        ensure
          theirs.each_value(&:close) if theirs.size < @names.values.sum(&:size)
        end

        # In the child. `exit!`: the at_exit handlers and finalizers are the parent's. The mask outside keeps a late
        # interruption from skipping it.
        def live(theirs)
          status = 1
          Interruption.hold do
            settle_in(theirs)
            Interruption.admit { yield theirs }
            status = 0
          rescue SystemExit => e # of a process that a body has forked
            status = e.status
          ensure
            leave(status)
          end
        end

        def leave(status)
          FileBuffers.write_out
        ensure
          exit!(status)
        end

        # Ruby has flushed the standard streams before it forked; unbuffered, what bodies print comes in whole lines and
        # is not lost by `exit!`.
        def settle_in(theirs)
          @ends.each_value(&:close)
          Descriptors.keep_only(theirs.values)
          srand
          Process.setproctitle("#{$PROGRAM_NAME} (#{@title})")
          [STDOUT, STDERR].each { |stream| stream.sync = true unless stream.closed? }
        end

        # Process::Status.wait leaves the caller's $? alone.
        def reap(flags)
          status = flags.zero? ? Process::Status.wait(@pid) : Readiness.at_once { Process::Status.wait(@pid, flags) }
          return false if status.nil?

          @over = true
          @status = status if status.pid == @pid # else -1: SIGCHLD is ignored, or other code has waited
          true
        end

        def signal(name)
          Process.kill(name, @pid) unless over?
        rescue Errno::ESRCH
          nil
        end
      end

      # The pipe ends that this process holds towards its children. A child closes all but its own: a copy left open in
      # a sibling, or in a child of another pool, would hide the end of the pipe from its reader. Close-on-exec does not
      # help here, a fork without exec keeps everything.
      module Descriptors
        @lock = Thread::Mutex.new
        @open = {}.compare_by_identity

        class << self
          # Between the opening of a pipe and {.hold} no other thread may fork.
          def exclusively(&block) = @lock.synchronize(&block)

          # Only inside {.exclusively}.
          def hold(ios) = ios.each { |io| @open[io] = true }

          def close(ios)
            @lock.synchronize do
              ios.each do |io|
                @open.delete(io)
                io.close
              end
            end
          end

          # Only in a child, first of all: its copy of the lock is held, by the thread that forked.
          def keep_only(own)
            foreign = @open.keys
            @lock = Thread::Mutex.new
            @open = {}.compare_by_identity
            hold(own)
            foreign.each(&:close)
          end
        end
      end
    end
  end
end
