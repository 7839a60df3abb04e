# frozen_string_literal: true

require "net/http"
require "plait/mechanisms/compat"
require "plait/mechanisms/scheduler" # the mends ask whether a loop is one of ours
require_relative "exchange"
require_relative "connection"
require_relative "key"
require_relative "lease"
require_relative "pool"
require_relative "pooled_socket"
require_relative "reuse"

module Plait
  module HTTP
    module NetHTTP
      # What Net::HTTP does differently while it is mended: where it connects, where a request begins and ends, and where
      # a session is over. Its own methods do the work.
      module Session
        # Without `start` Net::HTTP asks the server to close the connection after the answer.
        def request(req, body = nil, &block)
          return super if started?

          start { return super(req, body, &block) }
        end

        # Net::HTTP ends the session in an `ensure`, where a kill may come before the first step.
        def start
          super
        ensure
          Thread.handle_interrupt(Pool::NEVER) { do_finish if block_given? && @socket.is_a?(PooledSocket) }
        end

        # In mid-exchange, how often Net::HTTP may try. See {Exchange#retries}.
        def max_retries = @plait_exchange ? @plait_exchange.retries(super, $!) : super # rubocop:disable Style/SpecialGlobalVars

        def connect
          plait_mend_waiting
          pool = NetHTTP.pool
          lease = Lease.new(Key.of(self), @plait_exchange&.fresh? ? -1 : keep_alive_timeout)
          pool.checkout(lease, open_timeout)
          unless lease.connection
            @ssl_session ||= NetHTTP.tls_sessions[lease.key] if use_ssl?
            super
            lease.connection = Connection.new(@socket.io)
          end
          @socket = PooledSocket.new(lease, pool, read_timeout: read_timeout, write_timeout: write_timeout,
                                                  continue_timeout: continue_timeout, debug_output: @debug_output)
          @last_communicated = nil
          kept = true
        ensure
          Thread.handle_interrupt(Pool::NEVER) { plait_give_up(pool, lease) unless kept }
        end

        def do_finish
          return super unless @socket.is_a?(PooledSocket)

          Thread.handle_interrupt(Pool::NEVER) do
            @started = false
            socket, @socket = @socket, nil
            socket.release
          end
        end

        # Whatever ends it early (a break out of the block, a throw, a kill, a cancellation) leaves the rest of the answer
        # on the connection, for the next one to read. Net::HTTP closes it for a StandardError only.
        def transport_request(req)
          outer = @plait_exchange
          outer&.admit_another
          begin
            exchange = @plait_exchange = Exchange.new(req)
            answered = false
            super do |response|
              exchange.response = response
              exchange.with_body { yield response } if block_given?
            end.tap { answered = true }
          ensure
            @plait_exchange = outer
            @socket.close unless answered || @socket.nil?
          end
        end

        def begin_transport(req)
          if @socket.is_a?(PooledSocket)
            @socket.begin_exchange(keep_alive_timeout)
            @last_communicated = nil # it has been looked after
          end
          super
          @plait_exchange.socket = @socket.is_a?(PooledSocket) ? @socket : nil
        end

        def end_transport(req, res)
          super
          return unless @last_communicated && @socket.is_a?(PooledSocket)
          return @socket.close unless Reuse.safe?(req, res)

          NetHTTP.tls_sessions[@socket.lease.key] = @ssl_session if @ssl_session
          @socket.end_exchange(kept_for: Reuse.kept_for(res), kept_times: Reuse.kept_times(res), bound: Reuse.bound?(req, res))
        end

        private

        # The socket that it has connected, if an interrupt came before the lease had that.
        def plait_give_up(pool, lease)
          @socket.close if @socket && !@socket.is_a?(PooledSocket)
          pool.discard(lease) if lease
        end

        # On Ruby 3.1 a plain Net::HTTP can't connect under Async, which asks every IO for its timeout.
        def plait_mend_waiting = Fiber.scheduler && Mechanisms::Compat.install
      end
    end
  end
end
