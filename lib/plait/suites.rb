# frozen_string_literal: true

require_relative "values/errors"
require_relative "suites/computing"
require_relative "suites/databases"
require_relative "suites/http"
require_relative "suites/rpc"
require_relative "suites/shard"
require_relative "suites/user_file"
require_relative "suites/waiting"

module Plait
  # What `plait lab` measures: ready-made workloads, on embedded origins where they need one.
  module Suites
    ALL = [Waiting.new, Computing.new, Http.new, Rpc.new].freeze
    # They need servers: measured when they are named.
    APART = [Databases.new, Shard.new].freeze
    private_constant :ALL, :APART

    class << self
      # @return [Array<Suite>] those that need nothing, in the order in which they are run
      def all = ALL

      # @return [Array<String>]
      def names = (ALL + APART).map(&:name)

      # @param name [String, Symbol]
      # @return [Suite]
      # @raise [UsageError] when there is none of that name
      def fetch(name)
        (ALL + APART).find { |suite| suite.name == name.to_s } or
          raise UsageError, "there is no suite #{name.to_s.inspect}; there are #{names.join(", ")}"
      end
    end
  end
end
