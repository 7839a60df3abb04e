# frozen_string_literal: true

require_relative "../limits"
require_relative "../rules"
require "plait/protocols/rulebook"

module Plait
  module Protocols
    module RESP
      module Pure
        # What both parsers do with bytes that come.
        class Intake
          # @param limits [Limits]
          def initialize(limits: Limits.new)
            @limits = limits
            @buffer = "".b
            @finished = false
          end

          # @param bytes [String]
          # @return [self]
          # @raise [LocalProtocolError] after finish
          def feed(bytes)
            raise TypeError, "bytes are a String, not #{bytes.class}" unless bytes.is_a?(String)
            raise Rules.misuse("bytes after finish") if @finished

            @buffer << bytes.b
            self
          end

          # The input is at its end.
          #
          # @return [self]
          def finish
            @finished = true
            self
          end

          # @return [Symbol, nil] the next event, or nil when more bytes are needed
          # @raise [RemoteProtocolError] from then on at each call
          def next_event
            raise Rules.error(*@broken, @limits) if @broken

            scan || at_end
          rescue Broken => e
            @broken = [e.rule, e.at]
            raise Rules.error(*@broken, @limits)
          end

          private

          def at_end
            return unless @finished
            return :closed if between?

            raise Broken.new(:truncated, here)
          end
        end
      end
    end
  end
end
