# frozen_string_literal: true

require "net/http"
require "plait/mechanisms/patches" if RUBY_ENGINE == "ruby" && RUBY_VERSION < "3.2"
require "plait/mechanisms/scheduler" # the patches ask whether a loop is one of ours
require "plait/protocols/http1/syntax"
require_relative "connection"
require_relative "pool"

module Plait
  module HTTP
    module NetHTTP
      # All settings of a connection: two Net::HTTP objects with equal keys may use each other's. The timeouts are no part of
      # it: they are set for each use.
      module Key
        TLS = Net::HTTP::SSL_IVNAMES

        module_function

        # @return [Array] to be compared with eql?
        def of(http)
          place = [kind(http), http.address, http.port, *local(http), *proxy(http)]
          place.concat(tls(http)) if http.use_ssl?
          place.map! { |part| comparable(part) }.freeze
        end

        # A subclass may connect in its own way. The classes made by Net::HTTP.Proxy, one a call, do not.
        def kind(http)
          kind = http.class
          kind = kind.superclass while kind.respond_to?(:proxy_class?) && kind.proxy_class?
          kind
        end

        def local(http) = [http.local_host, http.local_port, http.instance_variable_get(:@ipaddr), http.use_ssl?]

        # The credentials too: a tunnel's are sent once, when it is opened.
        def proxy(http)
          return [nil] unless http.proxy?

          [http.proxy_address, http.proxy_port, http.proxy_user, http.proxy_pass,
           http.instance_variable_get(:@proxy_use_ssl)]
        end

        def tls(http) = TLS.map { |name| http.instance_variable_get(name) }

        # Its contents where they can be read; else the object itself, which is equal to no other.
        def comparable(part)
          case part
          when String then part.frozen? ? part : part.dup.freeze
          when Array then part.map { |one| comparable(one) }.freeze
          when nil, Symbol, Numeric, true, false, Module then part
          else comparable_secret(part)
          end
        end

        def comparable_secret(part)
          case part
          when OpenSSL::X509::Certificate then part.to_der
          when OpenSSL::PKey::PKey then part.respond_to?(:public_to_der) ? part.public_to_der : part
          when OpenSSL::X509::Store then part.instance_variable_get(:@plait_made_of)&.dup || part
          else part
          end
        end
      end

      # What a request and its answer say about their connection, beyond Net::HTTP's own rules.
      module Reuse
        RULES = Protocols::HTTP1::Persistence

        module_function

        # @return [Boolean] whether it is certain where the answer ended, and that the peer has read the whole request
        def safe?(request, response)
          lengths = response.get_fields("content-length") || []
          return false if lengths.size > 1 || (lengths.any? && response.key?("transfer-encoding")) # RFC 9112 §6.3

          # The peer may have answered instead of asking for the body, and may take the next bytes for it.
          !request.key?("expect")
        end

        # @return [Boolean] whether the connection belongs to the user that has logged in on it
        def bound?(request, response)
          RULES.login_in_request?(request.each_header) || RULES.login_in_answer? { |name| response[name] }
        end

        # @return [Float, nil] seconds for which the peer says it keeps the connection, less a margin
        def kept_for(response) = RULES.margin(RULES.kept("timeout", response["keep-alive"]))

        # @return [Integer, nil] further requests that the peer takes on it
        def kept_times(response) = RULES.kept("max", response["keep-alive"])
      end

      # One request of a Net::HTTP and its answer, from the first attempt to the last.
      class Exchange
        def initialize(request)
          @request = request
          @fiber = Fiber.current
          @stale = 0
        end

        # @return [Net::HTTPResponse, nil] from when the caller has got it
        attr_accessor :response

        # Another request on the same Net::HTTP is in order only from the response's own block, once the body is read.
        # Everything else would mix the answers.
        def admit_another
          read = @response&.instance_variable_get(:@read)
          return if read && @fiber.equal?(Fiber.current)

          raise UsageError, "this Net::HTTP is waiting for the answer to its #{@request.method} #{@request.path}: give each " \
                            "thread and fiber a Net::HTTP of its own, and read a body before you send the next request"
        end

        # @param socket [PooledSocket] on which it is about to be sent
        attr_writer :socket

        # @return [Boolean] whether connections that have been idle are to be mistrusted
        def fresh? = @stale.positive?

        # Runs the caller's block. Net::HTTP then reads the rest; but when the block was left half-way (a break
        # out of read_body, a timeout that was rescued), it would start again, with the length of the whole, and wait for
        # bytes that never come. So the answer ends here, and the connection.
        def with_body
          @socket&.body_untouched
          yield
          return unless @socket&.body_touched? && !@response.instance_variable_get(:@read)

          @socket.close
          @response.instance_variable_set(:@read, true)
        end

        # How often Net::HTTP may try, in all. Its own rule is the method alone; but when something of the answer has come,
        # the caller may have got it, and a body that was read from a stream is gone.
        # @param allowed [Integer] the caller's max_retries
        # @param error [Exception, nil] why it asks
        def retries(allowed, error)
          return allowed unless @socket
          return 0 if @socket.received? || @request.body_stream

          # The pool has caused it: on a new connection it would not have happened.
          @stale = 1 if @socket.reused? && !error.is_a?(Timeout::Error)
          allowed + @stale
        end
      end

      # The methods of Net::HTTP that the patch replaces: where it connects, where a request begins and ends, and where
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
          Uninterruptible.run { do_finish if block_given? && @socket.is_a?(PooledSocket) }
        end

        # In mid-exchange, how often Net::HTTP may try. See {Exchange#retries}.
        def max_retries = @plait_exchange ? @plait_exchange.retries(super, $!) : super # rubocop:disable Style/SpecialGlobalVars

        def connect
          plait_patch_waiting
          hold = Hold.new(NetHTTP.pool, Key.of(self))
          hold.take(open_timeout, plait_renewal) { plait_connection(hold) { super() } }
          @socket = PooledSocket.new(hold, strict: NetHTTP.pool.settings.strict, read_timeout: read_timeout,
                                           write_timeout: write_timeout, continue_timeout: continue_timeout,
                                           debug_output: @debug_output)
          @last_communicated = nil
          kept = true
        ensure
          Uninterruptible.run { plait_give_up(hold) unless kept }
        end

        def do_finish
          return super unless @socket.is_a?(PooledSocket)

          Uninterruptible.run do
            @socket.release
            super()
          end
        end

        # An early end (a break out of the block, a throw, a kill, a cancellation) leaves the rest of the answer
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

          Uninterruptible.run { NetHTTP.tls_sessions.store(@socket.key, @ssl_session, once: false) } if @ssl_session
          @socket.end_exchange(kept_for: Reuse.kept_for(res), kept_times: Reuse.kept_times(res), bound: Reuse.bound?(req, res))
        end

        private

        # Whether an idle connection is too old.
        def plait_renewal
          return true if @plait_exchange&.fresh?

          oldest = keep_alive_timeout
          ->(connection) { connection.idle_longer_than?(oldest) }
        end

        def plait_connection(hold)
          @ssl_session ||= Uninterruptible.run { NetHTTP.tls_sessions.take(hold.key) } if use_ssl?
          yield
          Connection.new(@socket.io)
        end

        # The socket that it has connected, if an interrupt came before the pool had that.
        def plait_give_up(hold)
          @socket.close if @socket && !@socket.is_a?(PooledSocket)
          hold&.close
        end

        # On Ruby 3.1 a plain Net::HTTP can't connect under Async, which asks every IO for its timeout.
        def plait_patch_waiting = RUBY_ENGINE == "ruby" && RUBY_VERSION < "3.2" && Fiber.scheduler && Patches.install
      end
      private_constant :Key, :Reuse, :Exchange, :Session
    end
  end
end
