# frozen_string_literal: true

require "net/http"
require_relative "../../harness/delayed_origin"

module Bench
  module Core
    # Requests to the origin in C, which counts how many it holds at once.
    class InFlight
      MILLISECONDS = 50
      BODY = 612

      # @param trial [Harness::Trial] with the sizes `requests` and `limit`
      def initialize(trial)
        @trial = trial
        @origin = Harness::DelayedOrigin.new(MILLISECONDS, BODY)
        uri = URI("http://127.0.0.1:#{@origin.port}/")
        @uris = Array.new(trial[:requests]) { uri }
      end

      # @yieldparam uris [Array<URI>]
      # @yieldparam limit [Integer]
      # @yieldreturn [Integer] bytes received
      def report
        @trial.measure(operations: @uris.size, figures: -> { peaks }) do |count|
          yield(@uris.first(count), @trial[:limit])
        end
      end

      private

      def peaks = @origin.figures.slice("open_peak", "unanswered_peak")
    end
  end
end
