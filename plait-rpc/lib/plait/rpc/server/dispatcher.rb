# frozen_string_literal: true

require "digest"

module Plait
  module RPC
    class Server
      # Between the connections and the worker pool: takes requests, or refuses them, and knows which answer is the first.
      class Dispatcher
        # The method by which a connection shows the secret.
        AUTHENTICATE = "rpc.authenticate"
        # Wrong secrets after which a connection is closed.
        ATTEMPTS = 3

        # @return [Integer] received and refused requests
        attr_reader :requests, :notifications, :refused
        # @return [Integer] connections whose peer has broken the protocol, or a limit
        attr_reader :broken

        def initialize(lock, board, backlog, handler, secret)
          @lock = lock
          @board = board
          @backlog = backlog
          @handler = handler
          @secret = secret && digest(secret)
          @requests = @notifications = @refused = @broken = 0
        end

        attr_writer :pool

        # @return [true] only the server reads from its connections
        def reads? = true

        # @return [Boolean] whether another request of this connection may be taken
        def room?(connection) = @backlog.room?(connection.session)

        # @return [Boolean] as {#room?}; then a place is kept for the next request
        def place?(connection) = @lock.exclusively { @backlog.promise_one(connection.session) }

        # @return [Integer] how many of this connection may be taken
        def places(connection) = @lock.exclusively { @backlog.promise(connection.session) }

        # @param batch [NativeBatch] of one receive
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
        def report(error)
          @lock.exclusively { @broken += 1 }
          @handler.report(error)
        end

        def unsent(connection) = (@pool.call if @board.unsent(connection.session))

        # A method waits for an answer of that connection's peer.
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

        def tell(error) = @handler.tell(error)

        # Refuses all further requests.
        def stop
          @stopping = true
          @board.wake
        end

        # Requests and notifications that did not come by {#take}. Under the lock.
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

        # Peers that were halted because of a promise may send again.
        def keep_promise(batch, peer)
          @backlog.keep_promise(peer)
          enter_together(batch, peer).tap { @board.let_in }
        end

        # @return [Boolean] false: each request needs a look
        def enter_together(batch, peer)
          return false unless trusts?(peer) && @backlog.append(batch)

          peer.take(batch)
          count_others(batch.requests, batch.notifications)
          true
        end

        # @return [Boolean] whether its requests are taken without a look at each
        def trusts?(peer) = !@stopping && (@secret.nil? || peer.admitted == true)

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

        # In constant time; digests, so that the time says nothing of the secret's length either.
        def same?(one, other)
          one.each_byte.with_index.reduce(0) { |differences, (byte, index)| differences | (byte ^ other.getbyte(index)) }.zero?
        end

        def digest(secret) = Digest::SHA256.digest(secret)
      end
      private_constant :Dispatcher
    end
  end
end
