# frozen_string_literal: true

require "digest"
require_relative "../incoming"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # Between the connections and the pool: takes what comes in, or says why not, and knows which answer is the first.
      class Dispatcher
        # By which a connection shows the secret.
        AUTHENTICATE = "rpc.authenticate"
        # Wrong secrets after which a connection is cut.
        ATTEMPTS = 3

        # @return [Integer] what came in, by kind
        attr_reader :requests, :notifications, :refused
        # @return [Integer] connections that were ended, because their peer has broken the protocol, or a limit
        attr_reader :broken

        # @param board [Switchboard]
        def initialize(lock, board, backlog, handler, secret)
          @lock = lock
          @board = board
          @backlog = backlog
          @handler = handler
          @secret = secret && digest(secret)
          @requests = @notifications = @refused = @broken = 0
        end

        # @return [WorkerPool]
        attr_writer :pool

        # @return [true] nobody else reads from its connections
        def reads? = true

        # @return [Boolean] whether another request of this connection may be taken
        def room?(connection)
          peer = connection.session
          peer.stint ? peer.promised.positive? : @backlog.room?(peer)
        end

        # @return [Boolean] as {#room?}; then there is a place for the request that is taken next, whatever others do
        def place?(connection) = @lock.exclusively { @backlog.promise_one(connection.session) }

        # @return [Integer] how many of this connection may be taken
        def places(connection)
          peer = connection.session
          peer.stint ? peer.promised : @lock.exclusively { @backlog.promise(peer) }
        end

        # What came from a connection at once.
        # @param batch [NativeBatch]
        def take_together(batch)
          return if @lock.exclusively { keep_promise(batch, batch.connection.session) }

          while (incoming = batch.shift)
            take(incoming)
          end
        end

        def take(incoming)
          incoming.dispatcher = self
          refusal = @lock.exclusively { enter(incoming, incoming.connection.session) } or return
          return authenticate(incoming) if refusal == :authenticate

          incoming.fail(refusal)
        end

        def closed(connection, error)
          @pool.call if @board.remove(connection.session)
          report(error) if error.is_a?(RemoteProtocolError)
        end

        # A peer has broken the protocol, or a limit.
        # @param error [RemoteProtocolError]
        def report(error)
          @lock.exclusively { @broken += 1 }
          @handler.report(error)
        end

        def unsent(connection)
          @pool.call if @board.unsent(connection.session)
        end

        # Somebody waits for an answer of that connection's peer.
        # @return [Object] the block's value
        def aside(connection, &block)
          @lock.exclusively { @board.listen_to(connection.session) }
          @pool.aside(&block)
        end

        # @return [Boolean] whether this is its first answer
        def settle(incoming)
          @lock.exclusively do
            next false if incoming.answered?

            incoming.connection.session.owed -= 1 unless incoming.notification?
            incoming.answered!
          end
        end

        # @return [Array(Object, Object)]
        def tell(error) = @handler.tell(error)

        # From now on nothing is taken any more.
        def stop
          @stopping = true
          @board.wake
        end

        # These are under the lock.

        # @return [Boolean] whether what it asks for is taken without a look at each
        def trusts?(peer) = !@stopping && (@secret.nil? || peer.admitted == true)

        # What came in by another way.
        def count_others(requests, notifications)
          @requests += requests
          @notifications += notifications
        end

        private

        # @return [Refusal, Symbol, nil] nil: it is in the backlog
        def enter(incoming, peer)
          @backlog.keep_promise(peer)
          count(incoming, peer)
          return if (reason = reason(incoming, peer)).nil?

          @refused += 1 unless reason == :authenticate
          reason
        end

        # Those who were turned away because of what was promised may come again.
        def keep_promise(batch, peer)
          @backlog.keep_promise(peer)
          enter_together(batch, peer).tap { @board.let_in }
        end

        # @return [Boolean] false: they have to be looked at one by one
        def enter_together(batch, peer)
          return false if !trusts?(peer) || !assign(batch, peer)

          peer.take(batch)
          count_others(batch.requests, batch.notifications)
          true
        end

        # @return [Object, nil] nil: there is no room
        def assign(batch, peer)
          stint = peer.stint
          return @backlog.append(batch) unless stint && @backlog.turn?(batch, peer)

          peer.stint = nil
          stint.batch = @backlog.begin_at_once(batch)
        end

        def count(incoming, peer)
          peer.fresh = true
          return @notifications += 1 if incoming.notification?

          @requests += 1
          peer.owed += 1
        end

        def reason(incoming, peer)
          return Refusal.new(:stopping, "the server is stopping") if @stopping
          return check(incoming) if @secret && peer.admitted != true
          return Refusal.new(:busy, "#{@backlog.size} requests wait already") unless @backlog.push(incoming)

          peer.in_flight += 1
          nil
        end

        def check(incoming)
          return :authenticate if incoming.method_name == AUTHENTICATE

          Refusal.new(:denied, "show the secret first: call #{AUTHENTICATE} with it")
        end

        def authenticate(incoming)
          peer = incoming.connection.session
          return incoming.respond(peer.admitted = true) if right?(incoming)

          peer.admitted = peer.admitted.to_i + 1
          incoming.fail(Refusal.new(:denied, "that is not the secret"))
          incoming.connection.close("tried #{ATTEMPTS} wrong secrets") if peer.admitted >= ATTEMPTS
        end

        def right?(incoming)
          secret, *others = incoming.arguments
          others.empty? && secret.is_a?(String) && same?(digest(secret), @secret)
        rescue StandardError
          false
        end

        # In the same time wherever they differ; and being digests, they would tell nothing of how much was right.
        def same?(one, other)
          one.each_byte.with_index.reduce(0) { |differences, (byte, index)| differences | (byte ^ other.getbyte(index)) }.zero?
        end

        def digest(secret) = Digest::SHA256.digest(secret)
      end
      private_constant :Dispatcher
    end
  end
end
