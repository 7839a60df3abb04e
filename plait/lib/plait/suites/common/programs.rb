# frozen_string_literal: true

require "stringio"

module Plait
  module Suites
    # Programs of the system: finds them, and runs them for a bounded time.
    class Programs
      # Servers live where only root's PATH leads, or in a folder for each version.
      FOLDERS = %w[/usr/sbin /usr/local/sbin /usr/lib/postgresql/*/bin /opt/homebrew/opt/*/bin /usr/local/opt/*/bin].freeze

      # Seconds for the program's last words, once it has ended: a process that has left the group may hold on to the pipes.
      LAST_WORDS = 5

      # - `status` a Process::Status, nil of a program that had to be killed
      # - `output`, `error` all that it has printed
      Result = Struct.new(:status, :output, :error)

      class << self
        # @param names [Array<String>]
        # @return [String, nil] path of the first of them that is there
        def find(*names) = new.find(*names)

        # @param package [String] its name in Debian and Homebrew
        # @return [String] the command that installs it
        def install(package) = RUBY_PLATFORM.include?("darwin") ? "brew install #{package}" : "sudo apt-get install -y #{package}"

        # Runs a program in a process group of its own. The processes that it has started end with it.
        # @param command [Array<String>]
        # @param bound [Numeric] seconds after which it is killed
        # @param options [Hash] further ones of Process.spawn
        # @return [Result]
        def run(command, bound:, environment: {}, **options)
          pipes = Array.new(2) { IO.pipe }
          output, error = pipes.map(&:last)
          pid = Process.spawn(environment, *command, in: File::NULL, out: output, err: error, pgroup: true, **options)
          [output, error].each(&:close)
          reading(pipes.map(&:first)) { wait(pid, bound) }
        ensure
          pipes&.flatten&.each(&:close)
        end

        private

        def reading(pipes)
          texts = pipes.map { StringIO.new }
          readers = pipes.zip(texts).map { |pipe, text| Thread.new { IO.copy_stream(pipe, text) } }
          status = yield
          readers.each { |reader| reader.join(LAST_WORDS) }
          Result.new(status, *texts.map(&:string))
        ensure
          readers&.each(&:kill)
        end

        def wait(pid, bound)
          waiter = Process.detach(pid)
          waiter.join(bound)&.value
        ensure
          kill_group(pid)
          waiter&.join
        end

        def kill_group(pid)
          Process.kill(:KILL, -pid)
        rescue Errno::ESRCH, Errno::EPERM
          nil # it has ended by itself
        end
      end

      # @param path [String] folders to look into
      # @param folders [Array<String>] more of them, as globs
      def initialize(path: ENV.fetch("PATH", ""), folders: FOLDERS)
        @folders = path.split(File::PATH_SEPARATOR) + folders.flat_map { |glob| Dir.glob(glob).reverse }
      end

      # @return [String, nil] path of the first of them that is there
      def find(*names)
        names.flat_map { |name| @folders.map { |folder| File.join(folder, name) } }
             .find { |path| File.file?(path) && File.executable?(path) }
      end
    end
  end
end
