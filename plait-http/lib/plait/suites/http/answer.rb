# frozen_string_literal: true

require "plait/suites/common/suite"

module Plait
  module Suites
    class Http < Suite
      # What a row got, whichever client it used: as much of Net::HTTP's response as is looked at.
      # @!attribute code
      #   @return [String] "200"
      # @!attribute body
      #   @return [String]
      # @!attribute message
      #   @return [String] the reason
      Answer = Struct.new(:code, :body, :message) do
        # @return [nil] whoever makes one has seen to it that the body is whole
        def content_length = nil
      end
    end
  end
end
