# frozen_string_literal: true

require "fileutils"
require "json"
require_relative "leftovers"
require_relative "result"

module Support
  class TestRun
    # The process of one test file. It has a temporary folder to itself, so that what it leaves there is seen.
    class Job
      # The tally of a process that died before it could write one.
      NOTHING = { "run" => 0, "failed" => 0, "skipped" => [] }.freeze

      # @param name [String]
      # @param command [Array<String>]
      # @param environment [Hash{String => String}] besides that of this process
      # @param folder [String] to be made for it
      # @param root [String] where it is run
      def initialize(name, command, environment:, folder:, root:)
        @name = name
        @command = command
        @environment = environment
        @folder = folder
        @root = root
        @temporary = File.join(folder, "t")
        @leftovers = Leftovers.new(folder, @temporary)
      end

      # Its output goes to a file: a pipe may be kept open by whatever it leaves behind.
      def start
        FileUtils.mkdir_p(@temporary, mode: 0o711)
        File.chmod(0o711, @folder)
        @started = now
        @pid = Process.spawn(environment, *@command, chdir: @root, in: File::NULL, %i[out err] => output_path,
                                                     pgroup: true)
        self
      end

      def finished?
        @status ||= begin
          before = children_cpu
          Process.waitpid2(@pid, Process::WNOHANG)&.last.tap { @cpu = children_cpu - before }
        end
        !@status.nil?
      end

      # @return [Float] since the start
      def seconds = now - @started

      def kill(signal = :KILL)
        Process.kill(signal, -@pid)
      rescue Errno::ESRCH, Errno::EPERM
        nil
      end

      # @return [Result]
      def result
        seconds = self.seconds
        kill
        remarks = [*crash, *@leftovers.clear]
        Result.new(name: @name, output: File.read(output_path).scrub, seconds: seconds, cpu: @cpu, remarks: remarks,
                   run: tally["run"] + remarks.size, failed: tally["failed"] + remarks.size, skipped: tally["skipped"])
      end

      private

      def children_cpu = Process.times.then { |times| times.cutime + times.cstime }

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def output_path = File.join(@folder, "output")

      def tally_path = File.join(@folder, "tally")

      def environment
        { **@environment, "PLAIT_TALLY" => tally_path, "TMPDIR" => @temporary, Leftovers::MARK => @folder, "LC_ALL" => locale }
      end

      # A machine without a locale (a container, CI) gets one that knows UTF-8.
      def locale = Encoding.find("locale") == Encoding::US_ASCII ? "C.UTF-8" : ENV.fetch("LC_ALL", nil)

      def tally
        @tally ||= File.exist?(tally_path) ? JSON.parse(File.read(tally_path)) : NOTHING
      end

      def crash
        return if @status.success? || tally["failed"].positive?

        "the process ended with #{@status.inspect.sub(/\A#<Process::Status: |>\z/, "")}, though no test had failed"
      end
    end
  end
end
