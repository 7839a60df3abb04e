# frozen_string_literal: true

require "json"
require "rbconfig"
require "stringio"
require_relative "sample"

module Bench
  module Harness
    # Starts the fresh process of a contestant, waits for its line of JSON, and leaves nothing of it behind.
    class Launcher
      CHILD = File.expand_path("child.rb", __dir__)
      # Seconds. No contestant of a sane bench needs more, but for ten thousand threads on a busy machine; one that hangs must
      # not hang the rest.
      PATIENCE = 150
      # Seconds for what it has written to arrive, once it has ended: somebody who has left its process group may hold on to
      # its pipes for ever.
      LAST_WORDS = 5
      # Where in the bench an exception was raised says nothing about the contestant.
      PLACE = /\A.+?:\d+:in [`'].+?': /

      # @param gem_paths [GemPaths]
      # @param quick [Boolean]
      # @param patience [Numeric] seconds after which a contestant is killed
      def initialize(gem_paths, quick: false, patience: PATIENCE)
        @gem_paths = gem_paths
        @mode = quick ? "quick" : "full"
        @patience = patience
      end

      # @param bench_case [Case]
      # @param contestant [Contestant]
      # @return [Sample, Failure]
      def run(bench_case, contestant)
        missing = @gem_paths.missing(contestant.gems)
        return Failure.new("not installed: gem #{missing.join(", ")}") unless missing.empty?

        parse(*capture(environment(contestant), bench_case.file, bench_case.name, contestant.name))
      end

      private

      def environment(contestant)
        { "RUBYLIB" => @gem_paths.resolve(contestant.gems).join(File::PATH_SEPARATOR), "RUBYOPT" => nil,
          "BUNDLE_GEMFILE" => nil, "CONSOLE_LEVEL" => "fatal" }
      end

      # A process group of its own, so that the servers and load generators it started end with it.
      def capture(environment, *arguments)
        pipes = Array.new(2) { IO.pipe }
        output, error = pipes.map(&:last)
        pid = Process.spawn(environment, RbConfig.ruby, CHILD, @mode, *arguments,
                            in: File::NULL, out: output, err: error, pgroup: true)
        pipes.each { |pipe| pipe.last.close }
        reading(pipes.map(&:first)) { wait(pid) }
      ensure
        pipes.each { |pipe| pipe.first.close }
      end

      # What the block returns, and what has come out of each pipe by then.
      def reading(pipes)
        texts = pipes.map { StringIO.new }
        readers = pipes.zip(texts).map { |pipe, text| Thread.new { IO.copy_stream(pipe, text) } }
        status = yield
        readers.each { |reader| reader.join(LAST_WORDS) }
        [status, *texts.map(&:string)]
      ensure
        readers&.each(&:kill)
      end

      # @return [Process::Status, nil] nil when it had to be killed
      def wait(pid)
        waiter = Process.detach(pid)
        waiter.join(@patience)&.value
      ensure
        kill_group(pid)
        waiter&.join
      end

      def kill_group(pid)
        Process.kill(:KILL, -pid)
      rescue Errno::ESRCH
        nil
      end

      def parse(status, output, error)
        return Failure.new("killed after #{@patience} s without an answer", true) if status.nil?
        return Failure.new(reason(status, error)) unless status.success?

        Sample.from_h(JSON.parse(output.lines.last.to_s))
      rescue JSON::ParserError
        Failure.new("its last line was no JSON: #{output.lines.last.inspect}")
      end

      # The line that names the exception, where there is one; a thread's death announces itself in a line before.
      def reason(status, error)
        lines = error.lines.map(&:strip).reject(&:empty?)
        reason = lines.grep(/\([A-Z][\w:]*\)\z/).last || lines.first || "ended without a word (#{status})"
        reason.sub(PLACE, "")
      end
    end
  end
end
