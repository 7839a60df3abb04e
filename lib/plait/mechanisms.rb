# frozen_string_literal: true

require_relative "mechanisms/composite"
require_relative "mechanisms/fibers"
require_relative "mechanisms/hybrid"
require_relative "mechanisms/processes"
require_relative "mechanisms/ractors"
require_relative "mechanisms/sequence"
require_relative "mechanisms/sidekiq"
require_relative "mechanisms/threads"
require_relative "values/errors"

module Plait
  # The ways to run a block over items, by name.
  module Mechanisms
    # Frozen, so that a ractor may look into it.
    ALL = [Sequence, Threads, Fibers, Hybrid, Processes, Ractors].to_h do |kind|
      mechanism = kind.new.freeze
      [mechanism.name, mechanism]
    end.freeze
    # Runs no blocks, but jobs.
    SIDEKIQ = Sidekiq.new.freeze
    private_constant :SIDEKIQ

    class << self
      # @return [Array<Symbol>] of those that run any block
      def names = ALL.keys

      # @return [Array<Symbol>] of these, and of those that run nothing but jobs
      def names_for_jobs = [*names, SIDEKIQ.name]

      # @param on [Symbol, String, Array<Symbol>] a name, or two of them for a composition
      # @return [Mechanism]
      # @raise [UnknownMechanism]
      # @raise [UnsupportedError] where it can't be used here
      def fetch(on)
        mechanism = find(on)
        reason = mechanism.unavailable
        raise UnsupportedError, "on: #{on.inspect} can't be used here: #{reason}" if reason

        mechanism
      end

      # @return [Mechanism] whether or not it can be used here
      # @raise [UnknownMechanism]
      def find(on)
        return on.size == 1 ? find(on.first) : Composite.new(*on) if on.is_a?(Array)

        name = on.respond_to?(:to_sym) ? on.to_sym : on
        ALL[name] || (SIDEKIQ if name == SIDEKIQ.name) || raise(UnknownMechanism, unknown(on))
      end

      private

      def unknown(on)
        "there is no mechanism #{on.inspect}; there are #{names.map(&:inspect).join(", ")}, " \
          "pairs such as [:processes, :fibers], and :sidekiq for jobs"
      end
    end
  end
end
