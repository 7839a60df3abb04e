# frozen_string_literal: true

module Plait
  module RPC
    # A result that is not there yet. A method that returns one has its caller answered when it is: from any thread or fiber,
    # also before the method has returned it.
    #
    # @example
    #   def report(id)
    #     delayed = Plait::RPC::Delayed.new
    #     Reports.on_ready(id) { |report| delayed.result(report) }
    #     delayed
    #   end
    class Delayed
      def initialize
        @lock = Mutex.new
      end

      # The result is there. The first word counts.
      # @param value [Object]
      # @return [Boolean] whether the caller was answered by it, or will be
      # @raise [Protocols::MessagePackRPC::PackError]
      def result(value) = settle { |incoming| incoming.respond(value) }

      # There will be no result.
      # @param error [Exception, String]
      # @return [Boolean]
      def error(error)
        error = RuntimeError.new(error) unless error.is_a?(Exception)
        settle { |incoming| incoming.fail(error) }
      end

      # Called when the method has returned it.
      # @api private
      def attach(incoming)
        answer = @lock.synchronize do
          @incoming = incoming
          @answer
        end
        answer&.call(incoming)
      end

      private

      def settle(&answer)
        incoming = @lock.synchronize do
          return false if @answer

          @answer = answer
          @incoming
        end
        incoming ? answer.call(incoming) : true
      end
    end
  end
end
