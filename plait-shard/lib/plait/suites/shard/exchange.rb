# frozen_string_literal: true

require "plait/suites/common/suite"

module Plait
  module Suites
    class Shard < Suite
      # A command as it is sent, and what is known of its answer beforehand.
      Exchange = Struct.new(:request, :size, :right, keyword_init: true)

      # See above.
      class Exchange
        OK = "+OK\r\n"

        class << self
          # @param words [Array<String>]
          # @return [Exchange] whose answer is that it was done
          def done(*words) = exact(OK, *words)

          # @param reply [String]
          # @param words [Array<String>]
          # @return [Exchange] whose answer is this one
          def exact(reply, *words) = new(request: encode(words), size: reply.bytesize, right: ->(bytes) { bytes == reply })

          # @param words [Array<String>]
          # @return [String]
          def encode(words)
            words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.bytesize}\r\n".b << word.b << "\r\n".b }
          end
        end

        # @param bytes [String] the answer
        # @return [Boolean]
        def right?(bytes) = right.call(bytes)

        # @return [Integer] bytes that it moves
        def bytes = request.bytesize + size
      end
    end
  end
end
