# frozen_string_literal: true

require_relative "response_building"
require_relative "response_methods"

module Plait
  module HTTP
    # The twin of NativeResponse (rb_response.c).
    class PureResponse
      include ResponseMethods
      extend ResponseBuilding

      VERSIONS = ["1.0", "1.1", "2"].freeze
      private_constant :VERSIONS

      class << self
        private

        def assemble(head_bytes, status, minor, reason_at, reason_size, encoded) # rubocop:disable Metrics/ParameterLists -- as its twin
          reason = head_bytes.byteslice(reason_at, reason_size).force_encoding(Encoding::UTF_8)
          new(head_bytes, status, VERSIONS.fetch(minor), reason.valid_encoding? ? reason : reason.b, encoded)
        end
      end

      # @return [Integer]
      attr_reader :status
      # @return [String] "1.1"
      attr_reader :version
      # @return [String] may be empty
      attr_reader :reason
      # @return [String] the head as it was received, binary
      attr_reader :head_bytes
      # @return [String, nil] nil while it is still to be read
      attr_accessor :body
      # @return [String, nil] what was asked
      attr_accessor :url
      # @return [Io::Connector::Phases, nil] of the connection, when it was made for this request
      attr_accessor :phases
      # @return [Request, nil] nil for a plain GET, which goes out without one
      # @api private
      attr_reader :given_request
      # @return [Integer, nil] which of the requests of a fan-out this one answers
      attr_accessor :index
      # @return [Array<Array(String, String)>]
      attr_accessor :trailers
      # @return [Array<Float>] seconds of sending, until the first byte, and of reading
      attr_accessor :durations

      def initialize(head_bytes, status, version, reason, encoded)
        @head_bytes = head_bytes
        @status = status
        @version = version
        @reason = reason
        @encoded = encoded
        @trailers = []
        @durations = [0.0, 0.0, 0.0]
      end

      # @param request [Request]
      # @api private
      def request=(request)
        @given_request = request
      end

      # @return [Boolean] whether there is a Content-Encoding
      def encoded? = @encoded
    end
  end
end
