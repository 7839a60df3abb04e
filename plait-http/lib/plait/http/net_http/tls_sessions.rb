# frozen_string_literal: true

module Plait
  module HTTP
    module NetHTTP
      # The last TLS session with each origin, so that a new connection costs one round trip less. Sessions are kept by
      # {Key}: what was verified for one set of TLS settings counts for no other.
      class TLSSessions
        LIMIT = 512

        def initialize
          @lock = Thread::Mutex.new
          @sessions = {}
        end

        # @return [OpenSSL::SSL::Session, nil]
        def [](key) = try { @sessions[key] }

        # @return [void]
        def []=(key, session)
          try do
            @sessions.delete(key)
            @sessions.shift if @sessions.size >= LIMIT
            @sessions[key] = session
          end
        end

        # @return [void]
        def clear = try { @sessions.clear }

        private

        # Nothing is lost but a round trip if somebody else is at it.
        def try
          return unless @lock.try_lock

          begin
            yield
          ensure
            @lock.unlock
          end
        end
      end
    end
  end
end
