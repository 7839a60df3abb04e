# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Lab
    # A report could not be written. Nothing that was measured is lost: the caller still holds it.
    class WriteError < Error
      # @return [String]
      attr_reader :path

      def initialize(message, path:)
        super(message)
        @path = path
      end
    end
  end
end
