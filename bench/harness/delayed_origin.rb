# frozen_string_literal: true

require "json"
require_relative "native"
require_relative "processors"

module Bench
  module Harness
    # The HTTP origin in C, which answers after a delay and counts how many requests it holds at once. An own process for
    # each contestant; it ends with it.
    class DelayedOrigin
      PROGRAM = Native.build(File.expand_path("delayed_origin.c", __dir__))

      # @return [Integer]
      attr_reader :port

      # @param milliseconds [Integer]
      # @param bytes [Integer] of a body
      # @param processor [Integer, nil] where it runs; nil: anywhere
      def initialize(milliseconds, bytes, processor = nil)
        pinned = processor ? Processors.for_origin(processor) : []
        @io = IO.popen([*pinned, PROGRAM, milliseconds.to_s, bytes.to_s], "r+")
        @io.sync = true
        @port = Integer(@io.gets || raise("the origin in C did not start"))
      end

      # @return [Hash{String => Numeric}] what it has seen since it was asked last: open_peak, unanswered_peak, requests,
      #   and cpu, seconds since its start
      def figures
        @io.write("?\n")
        JSON.parse(@io.gets)
      end
    end
  end
end
