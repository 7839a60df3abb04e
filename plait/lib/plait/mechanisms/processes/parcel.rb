# frozen_string_literal: true

require_relative "../mechanism"
require_relative "frames"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The items that go to a worker in one write: a header with their number; their indexes, the attempts made at them
      # elsewhere, and their lengths; the items, each dumped by itself. One dump of them all would be 0.7 µs cheaper an
      # item, but then items that refer to the same object would share a copy of it, or not, as the batch happens to fall.
      class Parcel
        # Bytes from which on a parcel takes no further item.
        FULL = 262_144

        # @param count [Integer] of items, from the header
        # @param body [String]
        # @return [Array<Array(Integer, Integer, String)>] index, attempts made, the item dumped
        def self.open(count, body)
          numbers = body.unpack("Q#{count}L#{count}Q#{count}")
          offset = count * 20
          Array.new(count) do |i|
            length = numbers[i + count + count]
            start = offset
            offset += length
            [numbers[i], numbers[i + count], body.byteslice(start, length)]
          end
        end

        def initialize
          @tasks = []
          @payloads = []
          @bytes = 0
        end

        def empty? = @tasks.empty?

        def full? = @bytes >= FULL

        # @param task [Task]
        # @param payload [String] its item dumped
        def add(task, payload)
          @tasks << task
          @payloads << payload
          @bytes += payload.bytesize
        end

        # @return [Array<Task>]
        attr_reader :tasks

        # @return [Array<String>] what to write
        def parts = @bytes < FULL ? [head + @payloads.join] : [head, *@payloads]

        private

        def head
          count = @tasks.size
          numbers = @tasks.map(&:index).concat(@tasks.map(&:made), @payloads.map(&:bytesize))
          [count, (count * 20) + @bytes, *numbers].pack("#{Frames::PARCEL.format}Q#{count}L#{count}Q#{count}")
        end
      end
    end
  end
end
