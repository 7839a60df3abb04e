# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module RPC
    # The answer to a call, which may not be there yet. Any number of threads and fibers may wait for it.
    class Future
      # @return [Integer] of the request
      attr_reader :id
      # @return [String, Symbol]
      attr_reader :method_name
      # @return [Float, nil] monotonic seconds by which the answer must be there
      attr_reader :limit
      # @return [Array<PureLine::Member>, nil] who sleeps until it is there
      # @api private
      attr_reader :members

      # @param connection [Connection]
      # @param method_name [String, Symbol]
      # @param limit [Float, nil] monotonic seconds
      def initialize(connection, method_name, limit)
        @connection = connection
        @method_name = method_name
        @limit = limit
        @state = nil
      end

      # @return [Object] the result, once it is there
      # @raise [RemoteError] the peer has answered with an error
      # @raise [ReadTimeout] it did not answer in time
      # @raise [ConnectionClosed] the connection ended before it did
      # @raise [Protocols::MessagePackRPC::UnpackError] it has sent what can't be unpacked
      def value
        @connection.await_answer(self) unless @state
        open_answer if @state == :answered || @state == :refused
        return @outcome if @state == :result

        raise error
      end
      alias get value

      # @return [Boolean] whether it is known what has become of it; nothing is waited for
      def settled? = !@state.nil?

      # Of the line. (That in C does the same for itself.)
      # @api private
      def entered(id, frame_end)
        @id = id
        @frame_end = frame_end
      end

      # @api private
      def sent?(bytes) = bytes >= @frame_end

      # @api private
      def awaited_by(member) = (@members ||= []) << member

      # Once. Under the line's lock.
      # @param state [Symbol] :answered or :refused (the outcome is packed), :lost or :unsent (the reason why), :late,
      #   :cancelled
      # @api private
      def settle(state, outcome = nil)
        @outcome = outcome
        @state = state
      end

      private

      # By who wants it, and not by who has read it.
      def open_answer
        packed = @outcome
        refused = @state == :refused
        outcome = @connection.codec.unpack(packed)
        @outcome = outcome
        @state = refused ? :error : :result
      end

      def error
        case @state
        when :error then RemoteError.new(@outcome, method_name: @method_name, endpoint: @connection.endpoint)
        when :late then @connection.late_answer(self)
        when :cancelled then CancelledError.new
        else @connection.complaint(@outcome, retry_safe: @state == :unsent, about: @method_name.to_s)
        end
      end
    end
  end
end
