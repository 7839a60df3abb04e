# frozen_string_literal: true

require_relative "../mechanism"
require_relative "native_port" if defined?(Ractor::Port)
require_relative "pipe_port" unless defined?(Ractor::Port)

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Where the ractors of one pool put their reports, and one thread of the main ractor takes them. The only place that
      # knows how: Ruby 4.0 has Ractor::Port and no longer Ractor.yield and Ractor#take, which the Rubies before have.
      module Port
        KIND = defined?(::Ractor::Port) ? NativePort : PipePort
        # The attempts of a ractor that ends because the system gives it no threads.
        NO_THREADS = (1 << 32) - 1

        # A port says `[number, report]`; `[number, attempts]` when that ractor is about to end, with the attempts at the last
        # item, or nil if they are not known; and nil after `wake`.
        # @return [PipePort, NativePort]
        def self.open = KIND.new

        # Called in a ractor.
        # @param address [IO, Ractor::Port] of the port
        # @param number [Integer] of the worker
        # @return [PipePort::Far, NativePort::Far] its other end
        def self.reach(address, number) = KIND::Far.new(address, number)
      end

      private_constant :Port
    end
  end
end
