# frozen_string_literal: true

require_relative "mechanisms/base"
require_relative "mechanisms/sequence"
require_relative "mechanisms/threads"
require_relative "sibling"

module Plait
  # The ways to run a block over items, by name.
  module Mechanisms
    # The names of mechanisms that other gems bring, each a file plait/mechanisms/NAME.rb that calls {register}.
    FOREIGN = Sibling.names("mechanisms").freeze
    # The mechanisms of this gem. All but the first two are loaded at their first use: together they take 25 ms of CPU.
    OWN = %i[sequence threads fibers hybrid processes ractors auto].freeze
    LOADING = Thread::Mutex.new
    private_constant :FOREIGN, :OWN, :LOADING
    autoload :Decision, File.expand_path("mechanisms/auto/decision", __dir__)
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
      def all = OWN.to_h { |name| [name, find(name)] }.merge(@all)

      # @return [Array<Symbol>] of mechanisms that run any block
      def names = OWN | @all.reject { |_, mechanism| mechanism.jobs_only? }.keys

      # @return [Array<Symbol>] of these, and of mechanisms that run nothing but jobs
      def names_for_jobs = OWN | @all.keys | FOREIGN

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
        return on.size == 1 ? find(on.first) : part(:composite).new(*on) if on.is_a?(Array)

        name = on.respond_to?(:to_sym) ? on.to_sym : on
        @all[name] || load(name) || raise(UnknownMechanism, unknown(on))
      end

      private

      # Two threads may both come here: mechanisms have no state, and one that is forgotten is made again.
      def load(name)
        return of_gem(name) if FOREIGN.include?(name)

        part(name).new.tap { |mechanism| register(mechanism) } if OWN.include?(name)
      end

      # An interrupted file would be loaded a second time. In a nonblocking fiber its scheduler, which may be another
      # library's, would read the file: Async 2.24 can't on Ruby 3.1.
      # @return [Class] of a file of this gem
      def part(name)
        reason = Mechanism.beyond_this_place("load it")
        raise UnsupportedError, "on: #{name.inspect} can't be used here: #{reason}" if reason

        Uninterruptible.run { Fiber.new(blocking: true) { require_alone("mechanisms/#{name}") }.resume }
        const_get(name.capitalize)
      end

      # Ruby 3.1 warns of two threads that require one file.
      def require_alone(path) = LOADING.synchronize { require_relative(path) }

      def of_gem(name)
        Sibling.load("mechanisms/#{name}")
        @all.fetch(name)
      end

      def unknown(on)
        "there is no mechanism #{on.inspect}; there are #{names.map(&:inspect).join(", ")}, " \
          "pairs such as [:processes, :fibers], and :sidekiq for jobs"
      end
    end

    # At once: a ractor can't load them.
    [Sequence, Threads].each { |kind| register(kind.new) }
  end
end
