# frozen_string_literal: true

require_relative "future"
require "plait/io/native"

module Plait
  module RPC
    # Many calls of one method that were sent together, and whose results are wanted together.
    class Volley
      # @param futures [Array<Future>]
      def initialize(futures)
        @futures = futures
      end

      # Waits for the answers.
      # @return [Array] the results, in the order of the calls
      # @raise (see Future#value)
      def values = @futures.map(&:value)

      # @return [void]
      def cancel = @futures.each(&:cancel)
    end

    NativeRPC.define_volley(self) if Native.available?

    # The same in C, rb_rpc_volley.h: one object for all calls. It is settled when all are answered, or one by an
    # error.
    class NativeVolley < Future
      # @return [Array] the results, in the order of the calls
      # @raise (see Future#value)
      def values
        await(nil) unless @state
        raise failure unless @state == :complete

        futures? ? results.map { |result| unpacked(result) } : results
      end

      private

      # (One that is not small, or an error, is a Future, made in C.)
      def unpacked(result) = result.is_a?(Future) ? result.value : result
    end
  end
end
