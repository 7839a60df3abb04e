# frozen_string_literal: true

require_relative "../values/deadline"
require_relative "../values/errors"

module Plait
  class Server
    # Processes that serve the same sockets. One that dies is replaced.
    class Workers
      # Seconds between two looks who has died.
      LOOK = 0.1
      # Seconds that a worker should live: one that dies sooner is replaced only then.
      YOUNG = 1

      # @param count [Integer]
      # @param bell [Io::Bell] rings when all shall end
      # @yield what a worker does; it is told to end by SIGTERM
      def initialize(count, bell, &work)
        @count = count
        @bell = bell
        @work = work
        @born = {}
        @due = []
      end

      # @return [Array<Integer>] the processes
      def pids = @born.keys

      # Until the bell rings, and all workers have ended.
      # @return [void]
      def run
        @lifeline = IO.pipe
        @count.times { begin_one }
        @bell.meanwhile(LOOK) { replace_the_dead }
      ensure
        finish
      end

      private

      def begin_one
        pid = Process.fork { live }
        @born[pid] = Deadline.now
      end

      # Nothing of the parent's is run at its end.
      def live
        status = 1
        trap(:INT, "IGNORE") # Ctrl-C goes to all: the parent tells us
        follow_the_parent
        @work.call
        status = 0
      ensure
        Process.exit!(status || 1)
      end

      # Into its end too, if it was killed: only it has the other end of the pipe open.
      def follow_the_parent
        reader, writer = @lifeline
        writer.close
        Thread.new { reader.read && Process.kill(:TERM, Process.pid) }
      end

      def replace_the_dead
        reap.each { |born| @due << [Deadline.now, born + YOUNG].max }
        now = Deadline.now
        @due.reject! { |at| at <= now && begin_one }
      end

      # @return [Array<Float>] when those were born who have died
      def reap
        pids.filter_map { |pid| @born.delete(pid) if Process.wait(pid, Process::WNOHANG) }
      end

      def finish
        tell(:TERM)
        deadline = @bell.deadline || Deadline.after(0)
        sleep(LOOK / 10) until gone? || deadline.expired?
        tell(:KILL)
        pids.each { |pid| Process.wait(pid) }
        @lifeline.each(&:close)
      end

      def gone?
        reap
        @born.empty?
      end

      def tell(signal) = pids.each { |pid| Process.kill(signal, pid) }
    end
  end
end
