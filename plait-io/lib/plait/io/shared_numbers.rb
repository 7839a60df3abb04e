# frozen_string_literal: true

require "tempfile"

module Plait
  module Io
    # A few numbers that a process and its forks share, from 0 to 2^32 - 1: each writes its own and sees all. They are in a file
    # without a name, which is gone with its last owner; a number is read and written whole.
    class SharedNumbers
      SIZE = 4
      FORMAT = "L*"
      private_constant :SIZE, :FORMAT

      # @param count [Integer]
      # @param initial [Integer] what each of them is
      def initialize(count, initial = 0)
        @count = count
        @file = Tempfile.create(binmode: true)
        File.unlink(@file.path)
        @file.pwrite(([initial] * count).pack(FORMAT), 0)
      end

      # @param index [Integer]
      # @param number [Integer]
      def []=(index, number)
        at_once { @file.pwrite([number].pack(FORMAT), index * SIZE) }
      end

      # @return [Array<Integer>]
      def to_a = at_once { @file.pread(@count * SIZE, 0) }.unpack(FORMAT)

      # In this process.
      # @return [void]
      def close = @file.close

      private

      # It is in memory: from Ruby 3.3 on a scheduler would have a thread of its own do it, and the fiber wait.
      def at_once(&access) = Fiber.respond_to?(:blocking) ? Fiber.blocking(&access) : yield
    end
  end
end
