# frozen_string_literal: true

require "fileutils"

module Support
  class TestRun
    # What a test file has left behind when its process is gone: processes, known by a variable in their environment,
    # and files in its temporary folder.
    class Leftovers
      MARK = "PLAIT_TEST_JOB"
      # Seconds for those that are about to end: a killed server's helpers.
      PATIENCE = 10

      # @param mark [String] the value of MARK in the environment of the test file
      # @param folder [String] its TMPDIR
      def initialize(mark, folder)
        @mark = "#{MARK}=#{mark}"
        @folder = folder
      end

      # Ends the processes and removes the files.
      # @return [Array<String>] a sentence for each
      def clear = [*processes, *files]

      private

      def processes
        wait_for_none.map do |pid|
          sentence = "left behind: process #{pid} #{command(pid)}"
          kill(pid)
          sentence
        end
      end

      def files
        left = Dir.children(@folder).map { |name| "left behind: #{name} in the temporary folder#{report(name)}" }
        FileUtils.rm_rf(@folder)
        left
      end

      # @return [String, nil] the backtrace of a command that met a bug in Plait
      def report(name) = (":\n#{File.read(File.join(@folder, name))}" if name.start_with?("plait-crash-"))

      def wait_for_none
        give_up = now + PATIENCE
        until (pids = running).empty? || now > give_up
          sleep(0.05)
        end
        pids
      end

      def running
        Dir.glob("/proc/[0-9]*/environ").filter_map { |path| path[/\d+/].to_i if marked?(path) }
      end

      # Not ours to read, or gone: not ours.
      def marked?(path)
        File.binread(path).split("\0").include?(@mark)
      rescue SystemCallError
        false
      end

      def command(pid)
        File.read("/proc/#{pid}/cmdline").tr("\0", " ").strip
      rescue SystemCallError
        "(gone by now)"
      end

      def kill(pid)
        Process.kill(:KILL, pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
