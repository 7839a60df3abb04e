# frozen_string_literal: true

require "json"
require_relative "../command"
require_relative "../../version"
require_relative "jruby"
require_relative "kernel_features"
require_relative "limits"
require_relative "machine"
require_relative "optional_gems"
require_relative "ruby"
require_relative "servers"
require_relative "sheet"
require_relative "ways"

module Plait
  module CLI
    class Doctor < Command
      # All that the doctor looks at.
      class Examination
        # Raised by one when a field changes its meaning or goes.
        SCHEMA = 1
        EXAMINERS = [Ruby, Machine, Limits, KernelFeatures, Ways, OptionalGems, Servers, JRuby].freeze

        # @param examiners [Array<Class<Examiner>, Proc>] Examiners, or what gives one
        def initialize(examiners = EXAMINERS)
          @examiners = examiners
        end

        # @return [Array<Check>]
        def checks = @checks ||= @examiners.flat_map { |examiner| begin_with(examiner).checks }

        # @return [Boolean] whether something holds back
        def limited? = checks.any? { |check| check.status == :limited }

        # @param terminal [Terminal]
        # @return [Array<String>] for people
        def lines(terminal) = Sheet.new(checks, terminal).lines

        # @return [String] for programs
        def to_json(*)
          record = { schema: SCHEMA, plait: Plait::VERSION, ruby: RUBY_DESCRIPTION, checks: checks.map(&:to_h) }
          "#{JSON.pretty_generate(record)}\n"
        end

        private

        def begin_with(examiner) = examiner.is_a?(Proc) ? examiner.call : examiner.new
      end
    end
  end
end
