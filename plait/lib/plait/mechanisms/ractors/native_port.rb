# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # A {Port} for Ruby 4.0 and later.
      class NativePort
        # @return [Ractor::Port]
        attr_reader :address

        def initialize
          @address = ::Ractor::Port.new
        end

        # The address is enough.
        def attach(_number, _ractor) = nil

        # Waits. For one thread only.
        # @return [Array(Integer, Array), Array(Integer, Integer), nil]
        def receive = @address.receive

        # Makes {#receive} return nil.
        def wake = @address.send(nil)

        def close = @address.close

        # In the ractor.
        class Far
          def initialize(port, number)
            @port = port
            @number = number
          end

          # @param report [Array] shareable or copied
          # @yieldparam error [StandardError] why it can't be copied
          # @yieldreturn [Array] to be sent instead
          def put(report)
            send(report)
          rescue StandardError => e
            send(yield(e))
          end

          def gone(attempts) = send(attempts)

          private

          # The pool may have given this ractor up, and closed.
          def send(report)
            @port.send([@number, report])
          rescue ::Ractor::ClosedError
            nil
          end
        end
      end

      private_constant :NativePort
    end
  end
end
