# frozen_string_literal: true

require_relative "values/errors"

module Plait
  # The ways to run a block over items, by name.
  module Mechanisms
    # Where each comes from; loaded when it is first asked for.
    FILES = {
      sequence: "sequence", threads: "threads", fibers: "fibers", hybrid: "hybrid",
      processes: "processes", ractors: "ractors"
    }.freeze

    class << self
      # @return [Array<Symbol>]
      def names = FILES.keys

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
        return compose(on) if on.is_a?(Array)

        name = on.respond_to?(:to_sym) ? on.to_sym : on
        @found ||= {}
        @found[name] ||= load(name)
      end

      private

      def load(name)
        file = FILES[name] or raise UnknownMechanism, "there is no mechanism #{name.inspect}; " \
                                                      "there are #{names.map(&:inspect).join(', ')}, " \
                                                      "and pairs such as [:processes, :fibers]"
        require_relative "mechanisms/#{file}"
        const_get(name.to_s.capitalize).new
      end

      def compose(pair)
        return find(pair.first) if pair.size == 1

        require_relative "mechanisms/composite"
        Composite.new(*pair)
      end
    end
  end
end
