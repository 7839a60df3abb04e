# frozen_string_literal: true

module Support
  class TestRun
    # What became of a test file. `remarks`: what its process did wrong besides its tests, each counted as a failure.
    # `cpu`: seconds of processor time, with those of the processes it waited for.
    Result = Struct.new(:name, :output, :seconds, :cpu, :run, :failed, :skipped, :remarks, keyword_init: true) do
      def passed = run - failed - skipped.size

      def ok? = failed.zero?
    end
  end
end
