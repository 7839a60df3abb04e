# frozen_string_literal: true

require_relative "pipe_port" unless defined?(Ractor::Port)

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # A {Port} for Ruby 4.0 and later.
      class NativePort
        attr_reader :address

        def initialize
          @address = ::Ractor::Port.new
        end

        # The address is enough.
        def attach(_number, _ractor) = nil

        # Waits. For one thread only.
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

      # Where the ractors of one pool put their reports, and one thread of the main ractor takes them. The only place that
      # knows how: Ruby 4.0 has Ractor::Port and no longer Ractor.yield and Ractor#take, which the Rubies before have.
      module Port
        KIND = defined?(::Ractor::Port) ? NativePort : PipePort
        # The attempts of a ractor that ends because the system gives it no threads.
        NO_THREADS = (1 << 32) - 1

        # A port says `[number, report]`; `[number, attempts]` when that ractor is about to end, with the attempts at the last
        # item, or nil if they are not known; and nil after `wake`.
        def self.open = KIND.new

        # Called in a ractor.
        # @param address [IO, Ractor::Port] of the port
        # @param number [Integer] of the worker
        # @return [PipePort::Far, NativePort::Far] its other end
        def self.reach(address, number) = KIND::Far.new(address, number)
      end
    end
  end
end
