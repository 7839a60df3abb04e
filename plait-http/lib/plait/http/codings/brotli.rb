# frozen_string_literal: true

require_relative "fault"

module Plait
  module HTTP
    module Codings
      # RFC 7932, by the gem brotli, where it is installed.
      class Brotli
        # The first one that decodes piece by piece.
        GEM = 'gem "brotli", ">= 0.8"'
        # Bytes that come out at once.
        PIECE = 64 * 1024
        @lock = Mutex.new

        class << self
          # @return [Boolean]
          def available?
            @lock.synchronize { @available = load if @available.nil? } if @available.nil?
            @available
          end

          # @return [Array<Class>] what the gem raises
          # @api private
          def faults = @available ? [::Brotli::Error] : []

          private

          def load
            require "brotli"
            ::Brotli.const_defined?(:Decompressor)
          rescue LoadError
            false
          end
        end

        def initialize
          @decompressor = ::Brotli::Decompressor.new
        end

        # @param bytes [String]
        # @yieldparam piece [String]
        # @return [void]
        def decode(bytes, &block)
          return if bytes.empty?

          @begun = true
          raise Fault, "there are bytes behind its end" if @decompressor.finished?

          give(bytes, &block)
          give("", &block) until @decompressor.finished? || @decompressor.can_accept_more_data
          raise Fault, "there are bytes behind its end" unless @decompressor.unused_data.empty?
        end

        # @return [Boolean] whether the data may end here
        def complete? = !@begun || @decompressor.finished?

        # @return [void]
        def close = nil

        private

        def give(bytes)
          piece = @decompressor.process(bytes, output_buffer_limit: PIECE)
          yield piece unless piece.empty?
        end
      end
    end
  end
end
