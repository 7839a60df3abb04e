# frozen_string_literal: true

require_relative "followers"
require_relative "../future"
require_relative "../lock"
require_relative "../volley"
require "plait/values/errors"

module Plait
  module RPC
    class Connection
      # What is asked of the peer: calls of ours, and who waits for their answers.
      module Calls
        # For all connections, since few need one.
        FOUNDING = Lock.new
        private_constant :FOUNDING

        # Sends a request and waits for its answer. When it is left early (a kill, a cancellation) the answer reaches nobody.
        # @param method [String, Symbol]
        # @param arguments [Array]
        # @param limit [Float, nil] monotonic seconds by which the answer must be there
        # @return [Object]
        # @raise (see Future#value)
        # @raise (see #call)
        def request(method, arguments, limit: nil)
          future = Future.new(self, method, limit)
          done = @dispatcher ? aside { exchange(future, arguments, limit) } : exchange(future, arguments, limit)
          done || future.settled? || raise(late_to_send(false))
          future.value
        end

        # Sends a request, and doesn't wait for its answer.
        # @param method [String, Symbol]
        # @param arguments [Array]
        # @param limit [Float, nil] monotonic seconds by which the answer must be there
        # @return [Future]
        # @raise [Protocols::MessagePackRPC::PackError] nothing was sent
        # @raise [ConnectionClosed] it is over; nothing was sent
        # @raise [WriteTimeout] the peer takes nothing
        def call(method, arguments, limit: nil)
          future = Future.new(self, method, limit)
          said = @line.call(future, pack(arguments), limit, true)
          said || (drop(future) && raise(late_to_send(said)))
          future
        end

        # As {call}, of many: they leave together.
        # @param method [String, Symbol]
        # @param lists [Array<Array>] the arguments of each
        # @param limit [Float, nil] monotonic seconds by which the answers must be there
        # @return [Array<Future>] fewer, if the connection ends meanwhile and some were sent: the values of these tell
        # @raise (see #call)
        def call_many(method, lists, limit: nil)
          futures = []
          lists.map { |arguments| @codec.pack(arguments) }.each { |params| say(futures, method, params, limit) }
          @line.send_off(limit) || raise(late_to_send(nil))
          futures
        rescue ConnectionClosed, RemoteProtocolError
          futures.any?(&:lost?) ? futures : raise
        end

        # As {call_many}, of calls whose results are wanted together.
        # @param method [String, Symbol]
        # @param lists [Array] the arguments of each, or its only argument
        # @param limit [Float, nil] monotonic seconds by which the answers must be there
        # @return [Volley, NativeVolley]
        # @raise (see #call)
        # @api private
        def volley(method, lists, limit: nil)
          return pure_volley(method, lists, limit) unless @line.respond_to?(:fire)

          volley = NativeVolley.new(self, method, limit)
          said = @line.fire(volley, @codec, lists, limit)
          said ? volley : raise(late_to_send(said))
        rescue ConnectionClosed, RemoteProtocolError
          volley&.lost? ? volley : raise # it tells what is known of it
        end

        # Sends a notification, to which there is no answer.
        # @param method [String, Symbol]
        # @param arguments [Array]
        # @param limit [Float, nil] monotonic seconds until which it may wait for a peer that reads slowly
        # @return [void]
        # @raise (see #call)
        def notify(method, arguments, limit: nil)
          said = @line.notify(method, @codec.pack(arguments), limit)
          said || raise(late_to_send(said))
        end

        # Nobody wants the answer any more: it is dropped when it comes.
        # @param future [Future]
        # @return [Boolean] whether it was still to come
        def drop(future) = @line.drop(future, false)

        # Waits until the future is settled.
        # @param future [Future]
        # @param limit [Float, nil] monotonic seconds; the future's own holds too
        # @return [Boolean] false when the time was up before
        # @raise [ConnectionClosed, RemoteProtocolError]
        # @api private
        def await_answer(future, limit = nil)
          moment = [future.limit, limit].compact.min
          return true if aside { @line.await(future, moment) }

          @line.drop(future, true) if future.limit && moment == future.limit
          future.settled?
        end

        # Has the block called when the future is settled, by a thread of the connection's.
        # @param future [Future]
        # @return [void]
        # @api private
        def follow(future, &block)
          aside { nil } if @served # its server shall read from it, however much there is to do
          (@followers || found_followers).add(future, &block)
        end

        # @return [Integer] calls without an answer
        def pending = @line.pending

        private

        # Small arguments are packed on the way.
        def exchange(future, arguments, limit)
          done = @line.ask(future, arguments, limit) if @small
          done.nil? ? @line.exchange(future, @codec.pack(arguments), limit) : done
        end

        def pure_volley(method, lists, limit)
          Volley.new(call_many(method, lists.map { |list| list.is_a?(Array) ? list : [list] }, limit: limit))
        end

        def say(futures, method, params, limit)
          future = Future.new(self, method, limit)
          said = @line.call(future, params, limit, false)
          said ? futures << future : raise(late_to_send(said))
        end

        # (An end that comes meanwhile may have missed them.)
        def found_followers
          FOUNDING.exclusively { @followers ||= Followers.new(@line, reads: !@served) }
          @followers.close if closed?
          @followers
        end

        def pack(arguments) = @small&.pack(arguments) || @codec.pack(arguments)

        # Where a server reads, who waits is not busy.
        def aside(&wait) = @dispatcher.respond_to?(:aside) ? @dispatcher.aside(self, &wait) : yield
      end
    end
  end
end
