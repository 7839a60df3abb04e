# frozen_string_literal: true

module Plait
  module RPC
    # The answer to a call, which may not be there yet. Any number of threads and fibers may wait for it.
    class Future
      # States in which the outcome is packed => what they become.
      PACKED = { answered: :result, refused: :error }.freeze

      # @param given [Numeric]
      # @return [Numeric]
      # @raise [UsageError]
      # @api private
      def self.seconds(given)
        return given if given.is_a?(Numeric) && given.real? && given >= 0

        raise UsageError, "a timeout is seconds from 0, or nil for none, not #{given.inspect}"
      end

      # @return [Integer] of the request
      attr_reader :id
      # @return [String, Symbol]
      attr_reader :method_name
      # @return [Float, nil] monotonic seconds by which the answer must be there
      # @api private
      attr_reader :limit
      # @return [Array<PureLine::Waiter>, nil] that sleep until it is there
      # @api private
      attr_reader :waiters

      # @param connection [Connection]
      # @param method_name [String, Symbol]
      # @param limit [Float, nil] monotonic seconds
      # @api private
      def initialize(connection, method_name, limit)
        @connection = connection
        @method_name = method_name
        @limit = limit
        @state = @followed = nil
      end

      # Waits for the answer.
      # @param timeout [Numeric, nil] seconds for this wait; the call's own time holds too
      # @return [Object] the result
      # @raise [RemoteError] the peer has answered with an error
      # @raise [ReadTimeout] it did not answer in the call's time
      # @raise [TimeoutError] the answer is not there yet: the program may ask again
      # @raise [ConnectionClosed, RemoteProtocolError] the connection ended before; `retry_safe?` says whether the call can
      #   have run
      # @raise [CancelledError] it was cancelled
      # @raise [Protocols::MessagePackRPC::UnpackError] the peer has sent a value that can't be unpacked
      def value(timeout = nil)
        raise TimeoutError, "#{@method_name} has no answer after #{timeout} s; it may still come" unless @state || await(timeout)
        return @content if @state == :result

        open_answer if PACKED.key?(@state)
        return @content if @state == :result

        raise failure
      end
      alias get value

      # Waits until it is settled, by a result or an error.
      # @param timeout [Numeric, nil] seconds
      # @return [self, nil] nil: it is not settled yet
      def join(timeout = nil)
        self if settled? || await(timeout)
      rescue Error
        self # `value` raises it
      end

      # Waits for the answer.
      # @return [Exception, nil] the error that {#value} raises; nil: there is a result
      def error
        value
        nil
      rescue StandardError => e
        e
      end

      # @return [Boolean] whether it is settled; takes received bytes, and doesn't wait
      def ready?
        @connection.look unless @state
        settled?
      end

      # Drops the answer when it comes. The call may run nevertheless.
      # @return [Boolean] whether the answer was still to come
      def cancel = @connection.drop(self)

      # @yieldparam value [Object]
      # @return [Derived] the future of the block's value. Without a result the block isn't called: its error is this one's.
      # @raise [UsageError] without a block
      def then(&block) = Derived.of(self, block)

      # @yieldparam future [Future] itself, when it is settled. An error of the block is reported as that of a thread is.
      # @return [self]
      def follow(&block)
        @connection.follow(self) { block.call(self) }
        self
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@method_name} #{@state || "pending"}>"

      # @!group For the line

      # @api private
      def settled? = !@state.nil?

      # @return [Boolean] whether the connection ended before the answer, and the call may have run
      # @api private
      def lost? = @state == :lost

      # (NativeLine sets these itself.)
      # @api private
      def entered(id, frame_end)
        @id = id
        @frame_end = frame_end
      end

      # @api private
      def sent?(bytes) = bytes >= @frame_end

      # @api private
      def awaited_by(waiter) = (@waiters ||= []) << waiter

      # Whether the connection's `due` is called when it is settled. Under the line's lock.
      # @api private
      attr_accessor :followed

      # Once. Under the line's lock.
      # @param state [Symbol] :answered (the outcome is packed), :refused (a pair, packed: the error, and the result beside it),
      #   :lost or :unsent (the reason), :late, :cancelled
      # @api private
      def settle(state, outcome = nil)
        @outcome = outcome
        @state = state
      end

      # The value of a block that is given an answer, see {Future#then}.
      class Derived
        # Seconds of one wait: Ruby takes no number without bound.
        LONGEST = 1_000_000
        private_constant :LONGEST

        # @param source [Future, Derived]
        # @api private
        def self.of(source, block)
          raise UsageError, "then needs a block" unless block

          new(source, block).tap { |derived| source.follow { derived.run } }
        end

        # @api private
        def initialize(source, block)
          @source = source
          @block = block
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @followers = []
        end

        # @param timeout [Numeric, nil] seconds for this wait
        # @return [Object] the block's value
        # @raise [Exception] that of the block, or of the answer
        # @raise [TimeoutError] it is not there yet
        def value(timeout = nil)
          raise TimeoutError, "nothing after #{timeout} s; it may still come" unless join(timeout)
          raise @error if @error

          @value
        end
        alias get value

        # @param timeout [Numeric, nil] seconds
        # @return [self, nil] nil: it is not there yet
        def join(timeout = nil)
          limit = Deadline.now + Future.seconds(timeout) if timeout && timeout != Float::INFINITY
          @lock.synchronize do
            until @done
              return if limit && Deadline.now >= limit

              @changed.wait(@lock, limit && (limit - Deadline.now).clamp(0, LONGEST))
            end
          end
          self
        end

        # Waits.
        # @return [Exception, nil]
        def error
          join
          @error
        end

        # @return [Boolean]
        def ready? = @done || false

        # @return [Boolean] whether the answer was still to come
        def cancel = @source.cancel

        # @return [Derived]
        # @yieldparam value [Object]
        def then(&block) = Derived.of(self, block)

        # @api private
        def run
          @error = CancelledError.new("the block was ended before it had a result") # by Thread.exit, say
          @value = @block.call(@source.value)
          @error = nil
        rescue Exception => e # rubocop:disable Lint/RescueException -- `value` raises it
          @error = e
        ensure
          finish
        end

        # @api private
        def follow(&block)
          later = @lock.synchronize { @done ? false : @followers << block }
          block.call unless later
        end

        private

        def finish
          followers = @lock.synchronize do
            @done = true
            @changed.broadcast
            @followers
          end
          followers.each(&:call)
        end
      end
      private_constant :PACKED, :Derived

      private

      def await(timeout) = @connection.await_answer(self, timeout && (Deadline.now + Future.seconds(timeout)))

      # By the caller, not by the reader. Two callers at once may both do it.
      def open_answer
        state = @state
        packed = @outcome or return # another caller has just done it
        return unless PACKED.key?(state)

        codec = @connection.codec
        @content = state == :answered ? codec.unpack(packed) : packed.map { |part| codec.unpack(part) }
        @state = PACKED.fetch(state)
        @outcome = nil
      end

      def failure
        case @state
        when :error then RemoteError.new(*@content, method_name: @method_name, endpoint: @connection.endpoint)
        when :late then @connection.late_answer(self)
        when :cancelled then CancelledError.new
        else @connection.complaint(@outcome, retry_safe: @state == :unsent, about: @method_name.to_s)
        end
      end
    end

    # Many calls of one method that were sent together.
    class Batch
      # @param futures [Array<Future>]
      def initialize(futures)
        @futures = futures
      end

      # Waits for the answers.
      # @return [Array] the results, in the order of the calls
      # @raise (see Future#value)
      def values = @futures.map(&:value)

      # @return [void]
      def cancel = @futures.each(&:cancel)
    end

    NativeRPC.define_call_batch(self) if Native.available?

    # The same in C, plait-io/ext/plait_io/rpc/rb_rpc_call_batch.h: one object for all calls. It is settled when all are answered,
    # or one by an error.
    class NativeCallBatch < Future
      # @return [Array] the results, in the order of the calls
      # @raise (see Future#value)
      def values
        await(nil) unless @state
        raise failure unless @state == :complete

        futures? ? results.map { |result| unpacked(result) } : results
      end

      private

      # (A large result, or an error, is a Future, made in C.)
      def unpacked(result) = result.is_a?(Future) ? result.value : result
    end
    private_constant :Batch, :NativeCallBatch
  end
end
