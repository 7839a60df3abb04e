# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module Lab
    class FreshProcess
      # What ran in the process has no result: it raised, or its process died or hung.
      class Failed < Error
        # @return [Symbol] :failed, :unsupported, :died or :hung
        attr_reader :kind

        def initialize(message, kind = :failed)
          super(message)
          @kind = kind
        end
      end
    end
  end
end
