# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module RPC
    class Client
      # One method, called for many arguments: so many calls are under way, and new ones are sent half a window at a time.
      class Mapping
        # Calls under way at once.
        WINDOW = 256

        # @param method [Symbol, String]
        # @param window [Integer] calls under way at once
        # @yieldparam lists [Array<Array>] the arguments of some calls
        # @yieldreturn [Array<Future>]
        # @raise [UsageError]
        def initialize(method, window, &send_many)
          counts = window.is_a?(Integer) && window.positive?
          raise UsageError, "limit: takes a number of calls, not #{window.inspect}" unless counts

          @method = method
          @window = window
          @send_many = send_many
          @futures = []
          @results = []
        end

        # @param lists [#each]
        # @return [Array]
        def run(lists)
          lists.each_slice([@window / 2, 1].max) do |slice|
            collect while @futures.size + slice.size > @window && !@futures.empty?
            @futures.concat(@send_many.call(slice.map { |arguments| arguments.is_a?(Array) ? arguments : [arguments] }))
          end
          collect until @futures.empty?
          @results
        ensure
          @futures.each(&:cancel)
        end

        private

        def collect = @results << @futures.shift.value
      end
    end
  end
end
