# frozen_string_literal: true

require "plait/values/errors"
require_relative "node_connection"

module Plait
  module Shard
    # Hears from Sentinels that another node has become master.
    # @api private
    class SwitchWatch
      CHANNEL = "+switch-master"
      # Seconds until one is asked again, when none can be heard.
      PAUSE = 1

      # @param sentinels [Sources::Sentinels]
      # @yield on a thread of its own, when one has
      def initialize(sentinels, &switched)
        @sentinels = sentinels
        @switched = switched
        @thread = Thread.new { listen }
        @thread.report_on_exception = false
      end

      # @return [void]
      def close
        @thread.kill
        @thread.join
      end

      private

      # What was said while none was heard is found out by reading.
      def listen
        loop do
          @sentinels.with_sentinel do |sentinel|
            sentinel.call("SUBSCRIBE", CHANNEL)
            loop do
              @switched.call
              sentinel.read(nil)
            end
          end
        rescue Error
          sleep(PAUSE)
        end
      end
    end
  end
end
