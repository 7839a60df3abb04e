# frozen_string_literal: true

module Plait
  module Io
    module TLS
      # Sessions by endpoint, so that the next handshake with it is a short one. Bounded: the endpoint that was used longest
      # ago makes room. Under TLS 1.3 a ticket serves one connection (RFC 8446 §C.4), so several are kept.
      class Sessions
        # Sessions kept for an endpoint.
        EACH = 8

        # @param size [Integer] endpoints at most
        def initialize(size)
          @size = size
          @kept = {}
          @lock = Mutex.new
        end

        # @param key [String]
        # @param session [OpenSSL::SSL::Session]
        # @param once [Boolean] whether it may serve one connection only
        # @return [void]
        def store(key, session, once:)
          @lock.synchronize do
            entries = @kept.delete(key) || []
            entries.clear unless once
            @kept[key] = entries.push([session, once]).last(EACH)
            @kept.shift if @kept.size > @size
          end
        end

        # @return [OpenSSL::SSL::Session, nil] the newest
        def take(key)
          @lock.synchronize do
            entries = @kept[key] or return
            session, once = entries.last
            entries.pop if once
            @kept.delete(key) if entries.empty?
            session
          end
        end

        # @return [Integer] endpoints
        def size = @lock.synchronize { @kept.size }
      end
    end
  end
end
