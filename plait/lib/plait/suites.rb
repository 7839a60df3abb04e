# frozen_string_literal: true

require_relative "values"
require_relative "parts"
require_relative "suites/common/suite"

module Plait
  # The suites of `plait lab`: ready-made workloads, with their own servers where they need some. A suite is a file
  # plait/suites/NAME.rb of any gem of the family.
  module Suites
    class << self
      # @return [Array<Suite>] suites that need no server, in the order of their runs
      def all = known.reject(&:apart?)

      # @return [Array<String>]
      def names = known.map(&:name)

      # @param name [String, Symbol]
      # @return [Suite]
      # @raise [UsageError] when there is none of that name
      def fetch(name)
        known.find { |suite| suite.name == name.to_s } or
          raise UsageError, "there is no suite #{name.to_s.inspect}; there are #{names.join(", ")}"
      end

      # @return [Hash{String => Exception}] the names of suites that can't be loaded, and why
      def broken = parts.broken

      private

      def known = @known ||= parts.load.map { |name| const_get(name.capitalize).new }.sort_by(&:place)

      def parts = @parts ||= Parts.new("suites")
    end
  end
end
