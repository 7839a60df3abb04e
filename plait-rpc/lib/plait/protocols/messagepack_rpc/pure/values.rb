# frozen_string_literal: true

require_relative "../skeleton"
require "plait/protocols/rulebook"
require_relative "formats"

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # Packed values: how long they are, and nothing more; twin of messagepack_rpc_values.c. Containers are counted, not
        # recursed into.
        class Values
          # A large string: where its header and its first byte are, its size in bytes, and whether it is a str.
          Large = Struct.new(:at, :begins, :size, :text)

          # @return [Integer] bytes of the message that are scanned; more than there are while a string is skipped
          attr_accessor :at
          # @return [Integer] bytes of the message that are no longer in its data
          attr_accessor :removed
          # @return [Integer, nil] strings of so many bytes are told as large
          attr_accessor :threshold
          # @return [Large, nil] the last one told
          attr_reader :large
          # @return [Integer] containers that are open
          attr_reader :depth

          # @param limits [Limits]
          # @param threshold [Integer, nil]
          def initialize(limits, threshold)
            @limits = limits
            @threshold = threshold
            @levels = []
            @at = @removed = @left = @depth = @elements = @owed = 0
            @clash = false
          end

          # @return [Boolean] whether the peer has sent an extension of the type that marks have
          def clash? = @clash

          # From now on containers count for nothing but the values in them.
          def flatten = @flat = true

          # A value begins.
          def begin = @left = 1

          # @return [Boolean] whether the innermost container, or the value, needs no further byte
          def full? = @left.zero?

          # Goes on to the value's end.
          #
          # @param view [View]
          # @return [Symbol] :done, :more or :large
          # @raise [Broken]
          def skip(view)
            result = :go_on
            while result == :go_on
              pass_plain(view)
              close_containers
              return :done if @left.zero?
              return :more if @at >= view.size

              first = view.byte(@at)
              result = pass_other(view, first) if Formats::STEPS[first].zero?
            end
            result
          end

          # @param view [View]
          # @return [Array(Integer, Integer), nil] bytes of the string at `at` and of its header, which stays where it is;
          #   nil when more bytes are needed
          def string(view)
            first = view.byte(@at)
            length = Formats::STRINGS[first]
            return [first & 31, 1] unless length

            [view.number(@at + 1, length), 1 + length] if view.here?(@at, 1 + length)
          end

          # @return [Integer] the offset of `at` in the message
          def offset = @at + @removed

          private

          # The hot loop: nothing is called in it but what Ruby inlines.
          def pass_plain(view)
            buffer, steps, left, at = view.buffer, Formats::STEPS, @left, view.base + @at
            stop = view.base + view.size
            while left > 0 && at < stop
              step = steps[buffer.getbyte(at)]
              break if step == 0

              at += step
              left -= 1
            end
            @at, @left = at - view.base, left
          end

          def close_containers
            while @left.zero? && @depth.positive?
              @left = @levels.pop
              @depth -= 1
            end
            @left, @owed = @owed, 0 if @left.zero?
          end

          def pass_other(view, first)
            return open_container((first & 15) * 2, 1) if first < 0x90
            return open_container(first & 15, 1) if first < 0xa0
            raise Broken.new(:never_used, offset) if first == Formats::NEVER_USED
            return open_long_container(view, first) if Formats::CONTAINERS.key?(first)

            Formats::STRINGS.key?(first) ? pass_string(view, first) : pass_extension(view, first)
          end

          def open_long_container(view, first)
            size = Formats::CONTAINERS.fetch(first)
            return :more unless view.here?(@at, 1 + size)

            count = view.number(@at + 1, size)
            open_container(first >= 0xde ? count * 2 : count, 1 + size)
          end

          def open_container(count, header)
            return (@owed += count) && pass(header) if @flat
            raise Broken.new(:nesting_limit, offset) if @depth == @limits.nesting
            raise Broken.new(:elements_limit, offset) if @elements + count > @limits.elements

            @elements += count
            @at += header
            @levels.push(@left - 1)
            @depth += 1
            @left = count
            :go_on
          end

          def pass(size)
            @at += size
            @left -= 1
            :go_on
          end

          # One that goes beyond the limit is not told as large: the limit is broken.
          def pass_string(view, first)
            size, header = string(view)
            return :more unless size

            at = @at
            pass(header + size)
            return :go_on unless @threshold && size >= @threshold && @at > view.size && @at <= view.limit

            @large = Large.new(at, at + header, size, Formats.text?(first))
            :large
          end

          def pass_extension(view, first)
            length = Formats::EXTENSIONS.fetch(first, 0)
            return :more unless view.here?(@at, 2 + length)

            @clash ||= view.byte(@at + 1 + length) == (Skeleton::MARK_TYPE & 0xff)
            pass(2 + length + (Formats::FIXED_EXTENSIONS[first] || view.number(@at + 1, length)))
          end
        end
      end
    end
  end
end
