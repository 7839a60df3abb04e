# frozen_string_literal: true

require "json"
require "rbconfig"
require_relative "sample"
require_relative "../../plait/lib/plait/suites/common/programs"

module Bench
  module Harness
    # Starts the fresh process of a contestant, waits for its line of JSON, and leaves nothing of it behind.
    class Launcher
      CHILD = File.expand_path("child.rb", __dir__)
      # Seconds. No contestant of a sane bench needs more, but for ten thousand threads on a busy machine; one that hangs must
      # not hang the rest.
      PATIENCE = 150
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

        command = [RbConfig.ruby, *libraries(contestant), CHILD, @mode, bench_case.file, bench_case.name, contestant.name]
        parse(Plait::Suites::Programs.run(command, bound: @patience, environment: environment(contestant)))
      end

      private

      # Plait, where it takes part.
      def libraries(contestant) = contestant.gems.include?("plait") ? ["-rplait"] : []

      def environment(contestant)
        { "RUBYLIB" => @gem_paths.resolve(contestant.gems).join(File::PATH_SEPARATOR), "RUBYOPT" => nil,
          "BUNDLE_GEMFILE" => nil, "CONSOLE_LEVEL" => "fatal" }
      end

      def parse(found)
        return Failure.new("killed after #{@patience} s without an answer", true) if found.status.nil?
        return Failure.new(reason(found)) unless found.status.success?

        Sample.from_h(JSON.parse(found.output.lines.last.to_s))
      rescue JSON::ParserError
        Failure.new("its last line was no JSON: #{found.output.lines.last.inspect}")
      end

      # The line that names the exception, where there is one; a thread's death announces itself in a line before.
      def reason(found)
        lines = found.error.lines.map(&:strip).reject(&:empty?)
        reason = lines.grep(/\([A-Z][\w:]*\)\z/).last || lines.first || "ended without a word (#{found.status})"
        reason.sub(PLACE, "")
      end
    end
  end
end
