# frozen_string_literal: true

require "fileutils"
require "open3"
require "pty"
require "rbconfig"
require "tmpdir"
require_relative "root"
require_relative "waiting"

module Support
  # Runs the real executable, in a folder of its own.
  module CommandLine
    Result = Struct.new(:out, :err, :status, keyword_init: true) do
      # @return [Integer] the exit status, as a shell tells it
      def code = status.exitstatus || (128 + status.termsig)
    end

    # The characters and the colours of the tests' own terminal must not matter.
    ENVIRONMENT = { "LANG" => "C.UTF-8", "LC_ALL" => nil, "NO_COLOR" => nil, "COLUMNS" => nil, "TERM" => "xterm",
                    "PLAIT_DEBUG" => nil }.freeze

    def setup
      super
      @folder = Dir.mktmpdir("plait-cli")
    end

    def teardown
      FileUtils.rm_rf(@folder)
      super
    end

    # @return [String]
    attr_reader :folder

    # @param prelude [String, nil] Ruby that is run first in the process
    # @return [Result]
    def plait(*arguments, env: {}, prelude: nil)
      out, err, status = Open3.capture3(ENVIRONMENT.merge(env), *command(arguments, prelude), chdir: folder)
      Result.new(out: out, err: err, status: status)
    end

    # What each command loads when it runs.
    PARTS = { "lab" => %w[lab/suite_campaign], "serve" => %w[serve/service], "fetch" => %w[fetch/run fetch/settings],
              "advise" => %w[consultation serve/consultation], "doctor" => [] }.freeze

    # As {#plait}, in a copy of this process, which has loaded the command: for what a command says, in a tenth of the time.
    # @return [Result]
    def plait_in_a_fork(*arguments)
      ["", *PARTS.fetch(arguments.first)].each { |part| require File.join("plait/cli", part).chomp("/") }
      out, err = %w[.out .err].map { |name| path(name) }
      pid = fork do
        { $stdin => File::NULL, $stdout => out, $stderr => err }.each { |io, to| io.reopen(to, io == $stdin ? "r" : "w") }
        Dir.chdir(folder)
        ENV.update(ENVIRONMENT)
        exit(Plait::CLI.start(arguments.map(&:dup)))
      end
      _, status = Process.wait2(pid)
      Result.new(out: File.read(out), err: File.read(err), status: status)
    end

    # Starts it, yields its pid and its outputs, which are files that grow, and waits for its end.
    # @return [Result]
    def plait_running(*arguments, env: {}, prelude: nil)
      out, err = %w[out err].map { |name| File.join(folder, ".#{name}") }
      pid = Process.spawn(ENVIRONMENT.merge(env), *command(arguments, prelude), chdir: folder, out: out, err: err)
      yield pid, out, err
      _, status = Process.wait2(pid)
      Result.new(out: File.read(out), err: File.read(err), status: status)
    ensure
      end_process(pid) unless status
    end

    # Runs it on a terminal of its own, of that many columns.
    # @yieldparam keyboard [IO] what is typed; "\u0003" is Ctrl-C
    # @yieldparam screen [Proc] => all that was written until now
    # @return [Result] both streams in `out`
    def plait_on_terminal(*arguments, columns: 100, env: {})
      PTY.spawn(ENVIRONMENT.merge(env), "sh", "-c", "stty cols #{columns} rows 40; cd \"$0\"; exec \"$@\"", folder,
                *command(arguments, nil)) do |screen, keyboard, pid|
        reader = Reader.new(screen)
        yield keyboard, reader.method(:text) if block_given?
        _, status = Process.wait2(pid)
        return Result.new(out: reader.finish, err: "", status: status)
      ensure
        end_process(pid) unless status
      end
    end

    def write(name, text) = File.write(path(name), text)

    def path(name) = File.join(folder, name)

    # Reads a terminal's other end until it is closed.
    class Reader
      def initialize(terminal)
        @text = String.new(encoding: Encoding::UTF_8)
        @thread = Thread.new { read(terminal) }
      end

      def text = @text.dup.force_encoding(Encoding::UTF_8).scrub

      def finish
        @thread.join
        text
      end

      private

      # Linux says EIO when the last process has closed the terminal.
      def read(terminal)
        loop { @text << terminal.readpartial(4096).force_encoding(Encoding::UTF_8) }
      rescue EOFError, Errno::EIO
        nil
      end
    end

    private

    def command(arguments, prelude)
      before = prelude ? ["-r", prelude_file(prelude)] : []
      [RbConfig.ruby, "-W", *FLAGS, *before, "#{ROOT}/plait/exe/plait", *arguments]
    end

    def prelude_file(text)
      File.join(folder, ".prelude.rb").tap { |file| File.write(file, text) }
    end

    def end_process(pid)
      Process.kill(:KILL, pid)
      Process.wait(pid)
    rescue SystemCallError, TypeError
      nil
    end
  end
end
