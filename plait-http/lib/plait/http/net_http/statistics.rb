# frozen_string_literal: true

module Plait
  module HTTP
    module NetHTTP
      # What the pool has done since it began, and holds now.
      #
      # @!attribute opened [Integer] connections that were opened, or tried to be
      # @!attribute reused [Integer] times a connection was handed out again
      # @!attribute stale [Integer] connections the peer had closed, or sent something on, while they were idle
      # @!attribute evicted [Integer] connections closed because they were idle too long, or to make room for others
      # @!attribute discarded [Integer] connections closed by their user, or because their exchange was not completed
      # @!attribute waited [Integer] times somebody had to wait for a connection
      # @!attribute in_use [Integer] connections that belong to a Net::HTTP that is started
      # @!attribute idle [Integer] connections that belong to nobody
      # @!attribute waiting [Integer] threads and fibers in the line
      Statistics = Struct.new(:opened, :reused, :stale, :evicted, :discarded, :waited, :in_use, :idle, :waiting,
                              keyword_init: true)
    end
  end
end
