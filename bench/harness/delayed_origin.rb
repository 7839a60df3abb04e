# frozen_string_literal: true

require_relative "native_process"
require_relative "processors"

module Bench
  module Harness
    # The HTTP origin in C, which answers after a delay and counts how many requests it holds at once. An own process for
    # each contestant; it ends with it.
    class DelayedOrigin < NativeProcess
      SOURCE = File.expand_path("delayed_origin.c", __dir__)
      private_constant :SOURCE

      # @return [Integer]
      attr_reader :port

      # @param milliseconds [Integer]
      # @param bytes [Integer] of a body
      # @param processor [Integer, nil] where it runs; nil: anywhere
      def initialize(milliseconds, bytes, processor = nil)
        super(SOURCE, milliseconds, bytes, place: processor ? Processors.for_origin(processor) : [])
        @port = Integer(line)
      end

      # @return [Hash{String => Numeric}] what it has seen since it was asked last: open_peak, unanswered_peak, requests,
      #   and cpu, seconds since its start
      def figures
        go("?")
        super
      end
    end
  end
end
