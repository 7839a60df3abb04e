# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Workers that have died one after the other without having begun any item: others would, too.
      class Stillborn
        MOST = 3

        def initialize
          @count = 0
        end

        # One has begun something.
        def forget = @count = 0

        # @param worker [Worker]
        # @raise [UnsupportedError] when there are too many
        def add(worker)
          return if (@count += 1) < MOST

          raise UnsupportedError, "#{MOST} worker processes in a row ended before they began an item; the last one " \
                                  "#{worker.obituary}. Look for what runs at every fork: hooks of libraries around " \
                                  "Process._fork, limits of memory or processes"
        end
      end
    end
  end
end
