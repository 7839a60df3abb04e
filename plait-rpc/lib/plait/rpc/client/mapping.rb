# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module RPC
    class Client
      # One method, called for many arguments: so many calls are under way, and new ones are sent half a window at a time.
      class Mapping
        # Calls under way at once.
        WINDOW = 256

        # @param method [Symbol, String]
        # @param window [Integer] calls under way at once
        # @yieldparam lists [Array] the arguments of some calls, or the only argument of each
        # @yieldreturn [Volley, NativeVolley]
        # @raise [UsageError]
        def initialize(method, window, &send_many)
          counts = window.is_a?(Integer) && window.positive?
          raise UsageError, "limit: takes a number of calls, not #{window.inspect}" unless counts

          @method = method
          @slice = [window / 2, 1].max
          @most = window / @slice
          @send_many = send_many
          @volleys = []
          @results = []
        end

        # @param lists [#each]
        # @return [Array]
        def run(lists)
          lists.each_slice(@slice) do |slice|
            collect if @volleys.size == @most
            @volleys << @send_many.call(slice)
          end
          collect until @volleys.empty?
          @results
        ensure
          @volleys.each(&:cancel)
        end

        private

        def collect
          values = @volleys.first.values
          @results.concat(values)
          @volleys.shift
        end
      end
    end
  end
end
