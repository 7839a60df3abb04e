# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "blocks"

module Plait
  module Suites
    class Rpc < Suite
      # What the embedded server serves.
      class Service
        # @param blocks [Integer] that it holds
        def initialize(blocks)
          @blocks = Blocks.new(blocks)
        end

        # @return [String] so many blocks from there on
        def give(first, count) = @blocks.at(first, count)

        # @return [Integer] bytes
        def take(data) = data.bytesize

        # @return [Object] the same
        def echo(value) = value
      end
    end
  end
end
