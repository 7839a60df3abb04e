# frozen_string_literal: true

require_relative "mechanisms/auto"
require_relative "mechanisms/composite"
require_relative "mechanisms/fibers"
require_relative "mechanisms/hybrid"
require_relative "mechanisms/processes"
require_relative "mechanisms/ractors"
require_relative "mechanisms/sequence"
require_relative "mechanisms/threads"
require_relative "sibling"
require_relative "values/errors"

module Plait
  # The ways to run a block over items, by name.
  module Mechanisms
    # The names of mechanisms that other gems bring, each a file plait/mechanisms/NAME.rb that calls {register}.
    FOREIGN = Sibling.names("mechanisms").freeze
    private_constant :FOREIGN
    # A Sidekiq process names the class of its jobs, also where the program has required "plait" only.
    autoload :Sidekiq, File.expand_path("siblings/sidekiq", __dir__)

    @all = {}.freeze

    class << self
      # Adds one, by its name; the file that holds it does so.
      # @param mechanism [Mechanism]
      # @return [void]
      def register(mechanism)
        # Frozen, so that a ractor may look into it.
        @all = { **@all, mechanism.name => mechanism.freeze }.freeze
      end

      # @return [Hash{Symbol => Mechanism}] by name
      attr_reader :all

      # @return [Array<Symbol>] of mechanisms that run any block
      def names = all.reject { |_, mechanism| mechanism.jobs_only? }.keys

      # @return [Array<Symbol>] of these, and of mechanisms that run nothing but jobs
      def names_for_jobs = all.keys | FOREIGN

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
        all[name] || (of_gem(name) if FOREIGN.include?(name)) || raise(UnknownMechanism, unknown(on))
      end

      private

      def of_gem(name)
        Sibling.load("mechanisms/#{name}")
        all.fetch(name)
      end

      def unknown(on)
        "there is no mechanism #{on.inspect}; there are #{names.map(&:inspect).join(", ")}, " \
          "pairs such as [:processes, :fibers], and :sidekiq for jobs"
      end
    end

    [Sequence, Threads, Fibers, Hybrid, Processes, Ractors, Auto].each { |kind| register(kind.new) }
  end
end
