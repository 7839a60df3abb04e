# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Io
    class Stream
      # What a stream says when something fails.
      module Complaints
        private

        def late(error)
          what = error == ReadTimeout ? "#{peer} sent nothing in time" : "#{peer} did not take the bytes in time"
          error.new(what, endpoint: @endpoint)
        end

        def truncated(whole, count)
          ConnectionClosed.new("#{peer} closed the connection after #{whole.bytesize} of #{count} bytes", endpoint: @endpoint)
        end

        def closed_here = ConnectionClosed.new("the connection to #{peer} was closed on this side", endpoint: @endpoint)

        def in_use = UsageError.new("#{inspect} is in use: an exchange on it has not ended")

        # @param direction [Symbol] :read or :write
        # @param error [StandardError] the system's, or OpenSSL's
        def failure(direction, error)
          return closed_here if @closed

          what = direction == :read ? "reading from" : "writing to"
          ConnectionClosed.new("#{what} #{peer} failed: #{error.message}", endpoint: @endpoint)
        end

        def peer = @endpoint || "the peer"
      end
    end
  end
end
