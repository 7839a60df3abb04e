# frozen_string_literal: true

module Plait
  class Server
    class Detour
      # Texts over a socket, each with its length before it.
      module Frame
        HEAD = "Q>"
        SIZE = 8

        module_function

        # @param socket [IO]
        # @param text [String]
        # @return [void]
        def write(socket, text) = socket.write([text.bytesize].pack(HEAD), text)

        # @param socket [IO]
        # @return [String, nil] nil at its end, also in the middle of a text
        def read(socket)
          head = socket.read(SIZE)
          return unless head && head.bytesize == SIZE

          size = head.unpack1(HEAD)
          text = socket.read(size)
          text if text && text.bytesize == size
        end
      end
    end
  end
end
