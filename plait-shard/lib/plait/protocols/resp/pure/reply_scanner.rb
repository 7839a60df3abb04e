# frozen_string_literal: true

require "plait/protocols/rulebook"
require_relative "intake"

module Plait
  module Protocols
    module RESP
      module Pure
        # The scanner in Ruby alone; twin of NativeReplyScanner. See {RESP::ReplyScanner}.
        class ReplyScanner < Intake
          LINES = "+-:,(#_".bytes.freeze
          STRINGS = "$!=".bytes.freeze
          AGGREGATES = "*~>%|".bytes.freeze
          PAIRS = "%|".bytes.freeze
          NILS = "$*".bytes.freeze
          ATTRIBUTES = "|".ord
          # A header is complete; what one may be so far, behind which is the byte that makes it wrong.
          HEADER = /\G(-?)(\d{1,18})\r/n
          BEGINNING = /\G-?\d{0,18}/n

          # @return [String, nil] the first byte of the reply that was told
          attr_reader :type
          # @return [String, nil] the reply that was told
          attr_reader :bytes

          # (see Intake#initialize)
          def initialize(**options)
            super
            start
          end

          private

          def start
            @at = 0
            @left = 1
            @elements = 0
          end

          def between? = @buffer.empty?

          def here = @buffer.bytesize

          def scan
            @type = @bytes = nil
            while @left.positive?
              return if @at >= @buffer.bytesize || !value
            end
            @bytes = @buffer.byteslice(0, @at)
            @type = @bytes[0]
            @buffer = @buffer.byteslice(@at..)
            start
            :reply
          end

          # @return [Boolean, nil] true: a string, a line or a header is behind us; @at stays where more bytes are needed
          def value
            type = @buffer.getbyte(@at)
            if LINES.include?(type) then line
            elsif STRINGS.include?(type) then string(type)
            elsif AGGREGATES.include?(type) then aggregate(type)
            else raise Broken.new(:type, @at)
            end
          end

          def done(ends, more = 0)
            @at = ends
            @left += more - 1
            true
          end

          def line
            ends = @buffer.index("\r", @at + 1) || return
            lf(ends + 1)&.then { |behind| done(behind) }
          end

          # @return [Integer, nil] behind the LF that must be at a place
          def lf(place)
            byte = @buffer.getbyte(place) || return
            raise Broken.new(:line_end, place) unless byte == 0x0a

            place + 1
          end

          # @return [Array(Integer, Integer), nil] the number, nil where it is of nothing; and what is behind its line
          def header(type, rule)
            match = HEADER.match(@buffer, @at + 1) || (return incomplete(rule))
            nothing = match[1] == "-"
            raise Broken.new(rule, match.end(2)) if nothing && !(match[2].to_i == 1 && NILS.include?(type))

            behind = lf(match.end(0)) || return
            [nothing ? nil : match[2].to_i, behind]
          end

          def incomplete(rule)
            wrong = BEGINNING.match(@buffer, @at + 1).end(0)
            raise Broken.new(rule, wrong) if wrong < @buffer.bytesize
          end

          def string(type)
            length, begins = header(type, :bulk_length) || return
            return done(begins) unless length
            raise Broken.new(:bulk_limit, begins - 1) if length > @limits.bulk

            ends = begins + length
            check_end(ends)
            done(ends + 2) if @buffer.bytesize >= ends + 2
          end

          def check_end(ends)
            wrong = [0x0d, 0x0a].each_with_index.find { |byte, i| (@buffer.getbyte(ends + i) || byte) != byte }
            raise Broken.new(:bulk_end, ends + wrong[1]) if wrong
          end

          def aggregate(type)
            count, behind = header(type, :length) || return
            return done(behind) unless count

            count *= 2 if PAIRS.include?(type)
            @elements += count
            raise Broken.new(:elements_limit, behind - 1) if @elements > @limits.elements

            done(behind, type == ATTRIBUTES ? count + 1 : count)
          end
        end
      end
    end
  end
end
