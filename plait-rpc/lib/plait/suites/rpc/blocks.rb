# frozen_string_literal: true

require "plait/values/errors"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Rpc < Suite
      # A long String of which every block is another one: what has come is known to be what was asked for by its ends.
      class Blocks
        # Bytes.
        SIZE = 64 * 1024
        # Blocks of a megabyte.
        PER_MEGABYTE = 16
        NUMBER = "Q>"
        NUMBER_BYTES = 8
        FILL = ("plait".b * SIZE).byteslice(0, SIZE - (2 * NUMBER_BYTES)).freeze

        # An answer that is not the one to its call.
        class WrongAnswer < Error; end

        # @param count [Integer]
        def initialize(count)
          @text = Array.new(count) { |number| block(number) }.join.freeze
        end

        # @return [String] so many blocks from there on; not copied
        def at(first, count) = @text.byteslice(first * SIZE, count * SIZE)

        # @param data [String] those blocks, if all went well
        # @return [Integer] its bytes
        # @raise [WrongAnswer]
        def self.verify(data, first, count)
          ends = [data.bytesize, number_at(data, 0), number_at(data, data.bytesize - NUMBER_BYTES)]
          return data.bytesize if ends == [count * SIZE, first, first + count - 1]

          raise WrongAnswer, "#{count} blocks from #{first} on were asked for, and bytes, first and last are #{ends.inspect}"
        end

        def self.number_at(data, offset) = data.byteslice(offset, NUMBER_BYTES).unpack1(NUMBER)
        private_class_method :number_at

        private

        # Its number is at both of its ends.
        def block(number)
          mark = [number].pack(NUMBER)
          "#{mark}#{FILL}#{mark}"
        end
      end
    end
  end
end
