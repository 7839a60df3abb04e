# frozen_string_literal: true

require "plait/protocols/rulebook"
require_relative "inline"
require_relative "intake"

module Plait
  module Protocols
    module RESP
      module Pure
        # The parser in Ruby alone; twin of NativeCommandParser. See {RESP::CommandParser}.
        class CommandParser < Intake
          NUMBER = /\G(-?)(0|[1-9]\d{0,17})\r\n/n
          # What a number may be so far; behind it is the byte that makes it wrong.
          BEGINNING = /\G(?:-?(?:0|[1-9]\d{0,17})(?:\r\n?)?|-)?/n

          # @return [Array<String>, nil] of the command that was told
          attr_reader :arguments
          # @return [Integer, nil] bytes of the command that was told
          attr_reader :bytesize

          # (see Intake#initialize)
          def initialize(**options)
            super
            start
          end

          private

          def start
            @at = 0
            @count = nil
            @found = []
          end

          def between? = @buffer.empty?

          def here = @buffer.bytesize

          def scan
            @arguments = @bytesize = nil
            loop do
              return if @buffer.empty?
              return unless (words = @buffer.start_with?("*") ? array : line)
              return :command if words.any?
            end
          end

          # Takes the command off the buffer.
          def tell(words, size)
            @buffer = @buffer.byteslice(size..)
            start
            @arguments = words
            @bytesize = size
            words
          end

          def array
            @count ||= count || return
            while @found.size < @count
              return unless (word = argument)

              @found << word
            end
            tell(@found, @at)
          end

          def count
            value = number(1, :count) || return
            raise Broken.new(:arguments_limit, 1) if value > @limits.arguments

            [value, 0].max
          end

          # @return [Integer, nil] the number at a place; @at is then behind it
          def number(place, rule)
            match = NUMBER.match(@buffer, place)
            if match && match[0].getbyte(0) == 0x2d && match[2] == "0"
              raise Broken.new(rule, place + 1)
            elsif match
              @at = match.end(0)
              return Integer(match[1] + match[2], 10)
            end

            wrong = wrong_at(place)
            raise Broken.new(rule, wrong) if wrong < @buffer.bytesize
          end

          def wrong_at(place)
            return place + 1 if @buffer.byteslice(place, 2) == "-0"

            BEGINNING.match(@buffer, place).end(0)
          end

          def argument
            return unless @length || header

            ends = @begins + @length
            check_end(ends)
            return if @buffer.bytesize < ends + 2

            @at = ends + 2
            @length, length = nil, @length
            @buffer.byteslice(@begins, length)
          end

          def header
            place = @at
            return if place >= @buffer.bytesize
            raise Broken.new(:dollar, place) unless @buffer.getbyte(place) == 0x24

            length = number(place + 1, :bulk_length) || return
            check_length(length, place + 1)
            @begins = @at
            @length = length
          end

          def check_length(length, place)
            raise Broken.new(:bulk_length, place) if length.negative?
            raise Broken.new(:bulk_limit, place) if length > @limits.bulk
            raise Broken.new(:command_limit, place) if @at + length + 2 > @limits.command
          end

          def check_end(ends)
            wrong = [0x0d, 0x0a].each_with_index.find { |byte, i| (@buffer.getbyte(ends + i) || byte) != byte }
            raise Broken.new(:bulk_end, ends + wrong[1]) if wrong
          end

          def line
            size = @buffer.index("\n")&.succ
            raise Broken.new(:line_limit, @limits.line) if (size || @buffer.bytesize) > @limits.line
            return unless size

            words = Inline.split(@buffer.byteslice(0, size)) || raise(Broken.new(:quotes, 0))
            tell(words, size)
          end
        end
      end
    end
  end
end
