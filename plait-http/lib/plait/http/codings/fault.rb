# frozen_string_literal: true

module Plait
  module HTTP
    module Codings
      # What a step found wrong; its decoder says where. Nobody else sees it.
      # @api private
      class Fault < StandardError; end
    end
  end
end
