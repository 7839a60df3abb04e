# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "../stream"
require_relative "../streaming"
require_relative "pull"
require_relative "pump"

module Plait
  module RPC
    module Streaming
      # One call whose argument, or result, may come in chunks: the caller's side.
      class Call
        @lock = Mutex.new
        @last = 0

        # @return [Integer] a number that no other call of this process has
        def self.number = @lock.synchronize { @last += 1 }

        # @param method [Symbol, String]
        # @param arguments [Array] of which one may be an Enumerator or a {Stream}
        # @param timeout [Numeric, nil] seconds without any progress
        # @param deadline [Deadline, nil] for the whole
        # @raise [UsageError]
        def initialize(method, arguments, timeout: nil, deadline: nil)
          @method = method
          @index = index(arguments)
          @source = arguments[@index] if @index
          @arguments = arguments.each_with_index.map { |argument, index| argument unless index == @index }
          @timeout = timeout
          @deadline = deadline
        end

        # Makes sure that the peer knows streams, and sends the call. Nothing of the argument is read yet.
        # @param connection [Connection]
        # @return [self]
        # @raise [UnsupportedError] it does not
        def begin(connection)
          @connection = connection
          @id = Call.number
          @future = nil
          open
          @future = connection.call(CALL, [@id, @method.to_s, @arguments, @index])
          self
        ensure
          give_up unless @future
        end

        # Sends the argument, and waits for the result.
        # @return [Object, Stream]
        def finish
          @pump = Pump.new(@connection, @id, @source) if @source
          value = await
          done = true
          raise @pump.error if @pump&.error

          streamed = value == [MARK, @id]
          streamed ? Stream.new(Pull.new(@connection, @id, @pump) { patience }) : value
        ensure
          @pump&.stop unless streamed
          give_up unless done || @future.settled?
        end

        private

        def index(arguments)
          found = arguments.each_index.select { |index| stream?(arguments[index]) }
          raise UsageError, "one argument can come in chunks, not #{found.size}" if found.size > 1

          found.first
        end

        def stream?(argument) = argument.is_a?(Enumerator) || argument.is_a?(Stream)

        def open
          limit = patience&.then { |seconds| Deadline.now + seconds }
          version = @connection.request(OPEN, [VERSION, @id], limit: limit)
          @opened = version == VERSION
          raise too_many if version == false
          raise unsupported("it has version #{version.inspect}, and this is #{VERSION}") unless @opened
        rescue RemoteError => e
          raise unsupported(e.message)
        end

        def too_many
          PoolTimeout.new("#{@connection.endpoint} has as many calls with streams of this connection as it takes: #{@method} " \
                          "was not called", endpoint: @connection.endpoint)
        end

        def unsupported(why)
          UnsupportedError.new("#{@connection.endpoint} does not take streams (#{why}): call #{@method} without")
        end

        # @return [Float, nil] seconds
        def patience = [@timeout, @deadline&.remaining].compact.min

        def await
          until @future.join(seconds = patience)
            next if @pump && !@deadline&.expired? && Deadline.now - @pump.moved < seconds

            raise ReadTimeout.new("#{@connection.endpoint} did not answer #{@method} in time", endpoint: @connection.endpoint)
          end
          value
        end

        def value
          @future.value
        rescue RemoteError => e
          raise @pump&.error || e
        end

        def give_up
          @future&.cancel
          return if !@opened || @connection.closed?

          @connection.notify(CLOSE, [@id], limit: Deadline.now + Pull::PATIENCE)
        rescue ConnectionError, TimeoutError
          nil # it is gone, and with it the call
        end
      end
    end
  end
end
