# frozen_string_literal: true

require "plait/mechanisms/interruption"
require "plait/io/native"

module Plait
  class Server
    # Opens the file of a body. Where its path is not in the kernel's memory that waits for the disk: in a fiber a thread of the
    # pool does it then, so that the loop goes on.
    class OpenFile
      # @param path [String]
      # @return [File, nil] nil: what is there is no file (it has no length either, and may keep whoever opens it waiting), or
      #   there is nothing
      # @raise [SystemCallError] when it can't be opened
      def self.call(path)
        return at_once(path) unless Fiber.current_scheduler

        number = NativeServer.open_known(path)
        number ? File.for_fd(number, "rb") : new(path).aside
      end

      # Whoever is here waits for the disk.
      # @return [File, nil]
      def self.at_once(path) = (File.open(path, "rb") if File.file?(path))

      def initialize(path)
        @path = path
      end

      # The fiber may be ended meanwhile: who comes last of it and the thread closes the file.
      # @return [File, nil]
      def aside
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
  end
end
