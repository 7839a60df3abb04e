# frozen_string_literal: true

module Bench
  module Harness
    # One of those compared in a case. The body runs in a fresh process of its own and is given a {Trial}.
    class Contestant
      KINDS = %i[plait peer floor].freeze

      # @return [String]
      attr_reader :name
      # @return [Symbol] one of {KINDS}
      attr_reader :kind
      # @return [Array<String>] the gems it needs; their dependencies are found
      attr_reader :gems
      # @return [Proc] Trial -> nothing
      attr_reader :body

      def initialize(name, kind:, gems: [], &body)
        raise ArgumentError, "unknown kind #{kind.inspect}" unless KINDS.include?(kind)

        @name = name
        @kind = kind
        @gems = gems
        @body = body
      end

      def plait? = kind == :plait

      def peer? = kind == :peer

      def floor? = kind == :floor
    end
  end
end
