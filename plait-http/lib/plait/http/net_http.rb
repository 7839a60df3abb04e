# frozen_string_literal: true

require "net/http"
require "openssl"
require_relative "net_http/mend"
require_relative "net_http/pool"
require_relative "net_http/session"
require_relative "net_http/settings"
require_relative "net_http/store_history"
require_relative "net_http/tls_sessions"

module Plait
  module HTTP
    # Net::HTTP with a pool of keep-alive connections underneath, for threads and fibers, without a change to the code
    # that uses it or to the libraries on top of it. To require this file switches it on.
    #
    # @example
    #   require "plait/http/net_http"
    #
    #   Plait.map(urls, on: :fibers) { |url| Net::HTTP.get(URI(url)) }   # as many connections as are in use at once
    #
    # A session (`start` to `finish`, or one `Net::HTTP.get`) has a connection of its own, as ever. When it is over, and
    # its last answer was read to the end, the next session with the same {Key} gets it; one whose exchange was broken off
    # in any way is closed. See guides/net_http.md for what else is different.
    module NetHTTP
      @pool = Pool.new
      @tls_sessions = TLSSessions.new
      @mends = [Mend.new(Net::HTTP, Session), Mend.new(OpenSSL::X509::Store, StoreHistory),
                Mend.new(OpenSSL::X509::Store.singleton_class, StoreHistory::Beginning)]
      @lock = Thread::Mutex.new
      @holders = 0
      @permanent = @applied = false

      class << self
        # @api private
        # @return [Pool]
        attr_reader :pool
        # @api private
        # @return [TLSSessions]
        attr_reader :tls_sessions

        # Switches it on, in the whole process.
        # @return [void]
        def enable = change { @permanent = true }

        # Switches it off: Net::HTTP is as Ruby made it. Idle connections are closed; sessions that are open close theirs
        # when they are done. Blocks of {enabled} that are under way keep it on until they end.
        # @return [void]
        def disable = change { @permanent = false }

        # On for the time of a block, in the whole process.
        # @return [Object] what the block returns
        def enabled
          held = false
          change { held = (@holders += 1) }
          yield
        ensure
          change { @holders -= 1 } if held
        end

        # @return [Boolean]
        def enabled? = @applied

        # @param changes [Hash]
        # @option changes [Integer] :total connections open at once (512)
        # @option changes [Integer] :per_key of these, to one origin with the same TLS settings and proxy (256)
        # @option changes [Numeric] :idle_timeout seconds for which an unused connection is kept (30); Net::HTTP's own
        #   keep_alive_timeout (2) says how old a connection each Net::HTTP takes
        # @option changes [Boolean] :strict whether an answer that is cut off is an EOFError (true)
        # @return [Settings] all of them
        # @raise [UsageError] for an unknown setting, or a value that makes no sense; nothing is changed
        def configure(**changes) = @pool.settings = @pool.settings.with(**changes)

        # @return [Statistics]
        def statistics = @pool.statistics

        # Closes the idle connections and forgets the TLS sessions.
        # @return [void]
        def clear
          @pool.clear
          @tls_sessions.clear
        end

        private

        def change
          @lock.synchronize do
            yield
            wanted = @permanent || @holders.positive?
            next if wanted == @applied

            @mends.each(&(wanted ? :apply : :undo))
            @applied = wanted
          end
          clear unless @applied
        end
      end

      enable
    end
  end
end
