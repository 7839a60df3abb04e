# frozen_string_literal: true

require "plait/mechanisms/interruption"

module Plait
  class Server
    # Opens the file of a body. Where its path is not in the kernel's memory that waits for the disk: in a fiber a thread of the
    # pool does it then, so that the loop goes on.
    class OpenFile
      # @return [File, nil] nil: what is there is no file (it has no length either, and opening it may block), or
      #   there is nothing
      # @raise [SystemCallError] when it can't be opened
      def self.call(path)
        return at_once(path) unless Fiber.current_scheduler

        Uninterruptible.run { (number = NativeServer.open_known(path)) && File.for_fd(number, "rb") } || new(path).offloaded
      end

      # The caller waits for the disk.
      def self.at_once(path) = (File.open(path, "rb") if File.file?(path))

      def initialize(path)
        @path = path
      end

      # The fiber may be ended meanwhile: the fiber or the thread, whichever is last, closes the file.
      def offloaded
        Plait.offload { open }
        taken = true
        @file
      ensure
        give_up unless taken
      end

      private

      # On the thread. An interruption of it would lose a file that is open, but not kept yet.
      def open
        Thread.handle_interrupt(Mechanisms::Interruption => :never) { @file = OpenFile.at_once(@path) }
        @file&.close if @given_up
      end

      def give_up
        @given_up = true
        @file&.close
      end
    end

    # Has a file in the kernel's memory before sendfile(2) asks for it: that would have a loop of fibers wait for the disk.
    class ReadAhead
      # Bytes of a file sent before others get their turn.
      SLICE = 1024 * 1024
      # Bytes read at once.
      PIECE = 64 * 1024

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
        started = false
        Plait.offload do
          started = true
          read_through(copy, offset, count)
        end
      ensure
        copy&.close unless started # no thread has come to it
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
    private_constant :OpenFile, :ReadAhead
  end
end
