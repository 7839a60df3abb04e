# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"
require_relative "test_run/bundle"
require_relative "test_run/durations"
require_relative "test_run/job"
require_relative "test_run/summary"

module Support
  # Runs test files, each in a process of its own, some at a time, and adds up the results.
  # A file with the line `# bin/test: alone` is run after the others, by itself: it measures time.
  # One with the line `# bin/test: bundler` is run under Bundler, the others with its gems.
  #
  # The files that take longest are begun first, so that none of them is waited for in the end.
  class TestRun
    # Two more than there are processors: most files wait half of their time.
    JOBS = Etc.nprocessors + 2
    ALONE = %r{^# bin/test: alone$}
    BUNDLER = %r{^# bin/test: bundler$}
    # Seconds; for a test that hangs where no Ruby thread can end it.
    FILE_LIMIT = Integer(ENV.fetch("PLAIT_FILE_TIMEOUT", "3000"))
    PAUSE = 0.02

    # @param files [Array<String>] absolute paths
    # @param ruby [Array<String>] the command that starts a Ruby
    # @param root [String] the folder of the project
    # @param arguments [Array<String>] for minitest
    # @param jobs [Integer] files at a time
    # @param bundle [Boolean] whether the files get the gems of the bundle, or those of this Ruby
    def initialize(files, ruby:, root:, arguments: [], jobs: JOBS, bundle: false, out: $stdout)
      @files = files
      @ruby = ruby
      @bundle = bundle
      @root = root
      @durations = Durations.new(root)
      @arguments = arguments
      @jobs = jobs
      @summary = Summary.new(out)
      @running = []
    end

    # @return [Boolean] whether everything passed
    def call
      # Ignored in the background of a shell and under nohup, and so in every process of a test.
      %i[INT HUP].each { |signal| trap(signal, "DEFAULT") }
      in_a_folder do
        alone, together = @durations.longest_first(@files).partition { |file| ALONE.match?(File.read(file)) }
        run(together, @jobs)
        run(alone, 1)
      end
      @durations.save
      @summary.print
      @summary.ok?
    rescue Interrupt
      end_all
      @summary.print("interrupted: the other files were not run")
      false
    end

    private

    # Others may pass through it: PostgreSQL runs as a user of its own. Short: a socket's path has at most 107 bytes.
    def in_a_folder
      Dir.mktmpdir("plait-") do |folder|
        File.chmod(0o711, folder)
        @folder = folder
        Dir.mkdir(shared = File.join(folder, "shared"), 0o711)
        @environment = { "PLAIT_SHARED" => shared }
        @gems = @bundle ? Bundle.prepare(@ruby, folder) : {}
        yield
      end
    end

    def run(files, jobs)
      waiting = files.dup
      until waiting.empty? && @running.empty?
        @running << start(waiting.shift) while waiting.any? && @running.size < jobs
        take_finished
        sleep(PAUSE)
      end
    end

    def start(path)
      @started = @started.to_i + 1
      name = path.delete_prefix("#{@root}/")
      bundler = BUNDLER.match?(File.read(path))
      environment = bundler ? @environment : @environment.merge(@gems)
      command = [*@ruby, *("-rbundler/setup" if bundler), "-I#{@root}/test", path, *@arguments]
      Job.new(name, command, environment: environment, folder: File.join(@folder, @started.to_s), root: @root).start
    end

    def take_finished
      finished, @running = @running.partition(&:finished?)
      finished.map(&:result).each do |result|
        @summary.add(result)
        @durations.add(result)
      end
      @running.each { |job| job.kill if job.seconds > FILE_LIMIT }
    end

    # They are asked first, so that they can end their servers.
    def end_all
      @running.each { |job| job.kill(:INT) }
      give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 20
      sleep(PAUSE) until @running.all?(&:finished?) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up
    ensure
      @running.each(&:kill)
    end
  end
end
