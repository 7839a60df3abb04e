# frozen_string_literal: true

require "plait/io/native"

module Plait
  class Server
    # Has a file in the kernel's memory before sendfile(2) asks for it: that would have a loop of fibers wait for the disk.
    class ReadAhead
      # Bytes of a file sent before others get their turn.
      SLICE = 1024 * 1024
      # Bytes read at once.
      PIECE = 64 * 1024

      # @param file [File]
      def initialize(file)
        @file = file
        @until = 0
      end

      # In a fiber: on a thread, if it has to be read. The thread has a descriptor of its own, since this fiber may be ended
      # meanwhile.
      # @param offset [Integer] not below that of the call before
      # @param rest [Integer] bytes that are to be sent from there on
      # @return [Integer] how many to send next
      def fetch(offset, rest)
        count = [rest, SLICE].min
        return count unless Fiber.current_scheduler
        return [@until - offset, count].min if @until > offset

        read(offset, count) unless NativeServer.present?(@file.fileno, offset, count)
        @until = offset + count
        count
      end

      private

      def read(offset, count)
        copy = @file.dup
        begun = false
        Plait.offload do
          begun = true
          read_through(copy, offset, count)
        end
      ensure
        copy&.close unless begun # no thread has come to it
      end

      def read_through(file, offset, count)
        buffer = +""
        (offset...(offset + count)).step(PIECE) { |at| file.pread(PIECE, at, buffer) }
      rescue EOFError
        nil # it was cut meanwhile, and sendfile(2) sees that
      ensure
        file.close
      end
    end
  end
end
