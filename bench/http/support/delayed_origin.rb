# frozen_string_literal: true

require "json"
require_relative "../../harness/native"
require_relative "pages"
require_relative "../../harness/processors"
require_relative "site"

module Bench
  module HTTP
    # The origin in C, which answers after a delay and counts how many requests it holds at once. An own process for each
    # contestant; it ends with it.
    class DelayedOrigin
      PROGRAM = Harness::Native.build(File.expand_path("../origin.c", __dir__))

      # @param milliseconds [Integer]
      # @param pages [Pages] whose length its bodies have
      # @param processor [Integer, nil] where it runs
      def initialize(milliseconds, pages, processor)
        @io = IO.popen([*Harness::Processors.for_origin(processor), PROGRAM, milliseconds.to_s, pages.bytes.to_s], "r+")
        @io.sync = true
        @port = Integer(@io.gets || raise("the origin in C did not start"))
      end

      # @return [Site]
      def site = Site.new(port: @port)

      # @return [Hash{String => Numeric}] what it has seen since it was asked last: open_peak, unanswered_peak, requests,
      #   and cpu, seconds since its start
      def figures
        @io.write("?\n")
        JSON.parse(@io.gets)
      end
    end
  end
end
