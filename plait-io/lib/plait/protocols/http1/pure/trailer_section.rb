# frozen_string_literal: true

require_relative "../../broken"
require_relative "field"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # The fields after the last chunk, byte by byte (RFC 9112 §7.1.2).
        class TrailerSection
          TOKEN_BYTE = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/n
          CONTROL_BYTE = /[\x00-\x08\x0b-\x1f\x7f]/n

          # @param limits [Limits]
          def initialize(limits)
            @limits = limits
            @text = "".b
            @count = 0
            @state = :begin
          end

          # @param byte [String]
          # @param at [Integer] where it stands
          # @return [Boolean] whether it was the message's last
          # @raise [Broken]
          def take(byte, at)
            return finish(byte, at) if @state == :last

            last = @state == :begin && byte == "\r"
            last ? @state = :last : take_of_field(byte, at)
            false
          end

          # @return [Array<Field>]
          def fields
            at = 0
            @text.split("\r\n").map do |line|
              field = Field.parse(line, at)
              at += line.bytesize + 2
              field
            end
          end

          private

          def take_of_field(byte, at)
            raise Broken.new(:trailer_limit, at) if @text.bytesize == @limits.trailer

            @text << byte
            rule = send(@state, byte)
            raise Broken.new(rule, at) if rule
          end

          def finish(byte, at)
            raise Broken.new(:bare_cr, at) unless byte == "\n"

            true
          end

          # Each takes a byte and gives the rule that it breaks.

          def begin(byte)
            return beginning_error(byte) unless byte.match?(TOKEN_BYTE)
            return :headers_limit if @count == @limits.headers

            @count += 1
            @state = :name
            nil
          end

          def beginning_error(byte)
            return @count.zero? ? :leading_space : :obs_fold if " \t".include?(byte)

            byte == ":" ? :empty_name : stray(byte, :field_name)
          end

          def name(byte)
            return if byte.match?(TOKEN_BYTE)
            return :space_in_name if " \t".include?(byte)
            return :no_colon if byte == "\r"
            return stray(byte, :field_name) unless byte == ":"

            @state = :value
            nil
          end

          def value(byte)
            return stray(byte, nil) unless byte == "\r"

            @state = :line_end
            nil
          end

          def line_end(byte)
            return :bare_cr unless byte == "\n"

            @state = :begin
            nil
          end

          def stray(byte, otherwise)
            return :bare_lf if byte == "\n"

            byte.match?(CONTROL_BYTE) ? :control : otherwise
          end
        end
      end
    end
  end
end
