# frozen_string_literal: true

require_relative "../../values"
require "rbconfig"
require_relative "jruby"

module Plait
  module Suites
    # A server in a process of its own beside what is measured, of which it takes nothing but CPU time. It says its port when it
    # listens, and dies with the process that started it.
    class Companion
      # Seconds.
      START = 60
      STOP = 2
      # Seconds between two looks whether the parent is still there.
      LOOK = 0.2

      # It did not come up.
      class StartError < Error; end

      class << self
        # Without RubyGems and Bundler, which cost 0.2 s a start: the load path already names what is needed.
        # @param file [String] to be required
        # @param code [String] to be run
        # @param gems [Array<String>] whose code it needs, too
        def launch(file, code, gems: ["io-event"])
          # Not spawn with a pipe: JRuby redirects to a pipe only with an option of its JVM.
          new(IO.popen([{ "RUBYOPT" => nil }, *ruby, "--disable=gems", *load_path(gems), "-r#{file}", "-e", code,
                        { in: File::NULL }]))
        end

        # Waits for the end of a child process, and kills it where it takes longer.
        # @param pid [Integer]
        # @param seconds [Numeric]
        def reap(pid, seconds)
          deadline = Deadline.after(seconds)
          until Process.wait(pid, Process::WNOHANG)
            Process.kill(:KILL, pid) if deadline.expired?
            sleep(0.005)
          end
        end

        # The companion's side: serves until the process is ended or its parent is gone.
        # @param parent [Integer] process id
        # @param leave [#call, nil] ends the process, where the signal alone would leave something behind
        # @yieldparam announce [Proc] to be called with the port
        def serve(parent, leave: nil)
          trap("INT", "IGNORE") # it reaches the whole group, and the parent is still measuring
          trap("TERM", leave || "SYSTEM_DEFAULT")
          leave_with(parent, leave || -> { exit!(0) })
          yield ->(port) { tell("port #{port}") }
        rescue Error, SystemCallError, LoadError => e
          tell(e.message.lines.first)
        end

        private

        def tell(line)
          $stdout.puts(line)
          $stdout.flush
        end

        # By asking, not by a pipe's end: every process the parent forks meanwhile would keep such a pipe open.
        def leave_with(parent, leave)
          Thread.new do
            sleep(LOOK) while Process.ppid == parent
            leave.call
          end
        end

        def ruby = RUBY_ENGINE == "jruby" ? JRuby.current.command : [RbConfig.ruby]

        def load_path(gems)
          paths = $LOAD_PATH.map(&:to_s) | gems.flat_map { |name| paths_of(name) }
          paths.select { |path| File.directory?(path) }.map { |path| "-I#{path}" }
        end

        def paths_of(name)
          (Gem.loaded_specs[name] || Gem::Specification.find_by_name(name)).full_require_paths
        rescue Gem::MissingSpecError
          []
        end
      end

      # @param process [IO] from which it can be heard
      def initialize(process)
        @process = process
        @owner = Process.pid
      end

      # @return [Integer] process id
      def pid = @process.pid

      # Waits until it listens; ends it where it does not.
      # @param name [String] what it is called in errors
      # @return [Integer] its port
      # @raise [StartError]
      def await_port(name)
        answer = @process.wait_readable(START) && @process.gets
        port = answer.to_s[/\Aport (\d+)/, 1]
        raise StartError, "#{name} did not start: #{answer&.strip || "it said nothing"}" unless port

        port.to_i
      ensure
        stop unless port
      end

      # Ends the process and waits for it. Does nothing the second time, nor in a fork of the process that started it.
      def stop
        return if @process.closed? || @owner != Process.pid

        Process.kill(:TERM, pid)
        Companion.reap(pid, STOP)
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      ensure
        @process.close if @owner == Process.pid
      end
    end
  end
end
