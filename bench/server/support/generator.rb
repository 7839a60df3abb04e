# frozen_string_literal: true

require_relative "../../harness/processors"
require_relative "../../../plait/lib/plait/suites/common/programs"

module Bench
  module Server
    # Runs a load generator, on the processor of the origins, for so long and no longer.
    module Generator
      # Seconds beyond those that it was told to take: on a busy machine it needs some to open its connections and to end.
      GRACE = 15

      # @param command [Array<String>]
      # @param seconds [Numeric] that it was told to take
      # @return [String] its output
      # @raise [RuntimeError] where it fails, with its last words, or does not end
      def self.run(command, seconds)
        name = File.basename(command.first)
        files = Process.getrlimit(:NOFILE).last
        command = [*Harness::Processors.for_origin, *command]
        found = Plait::Suites::Programs.run(command, bound: seconds + GRACE, rlimit_nofile: files)
        raise "#{name} did not end in time" unless found.status
        return found.output if found.status.success?

        raise "#{name} failed: #{(found.output + found.error).lines.map(&:strip).reject(&:empty?).last}"
      end
    end
  end
end
