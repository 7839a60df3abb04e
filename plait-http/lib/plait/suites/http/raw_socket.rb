# frozen_string_literal: true

require "socket"
require "plait/suites/common/suite"
require_relative "answer"

module Plait
  module Suites
    class Http < Suite
      # A body: one request by hand, on a socket of its own, as people write it who find Net::HTTP slow. It knows what its
      # origin answers (a Content-Length, nothing chunked) and nothing more of HTTP.
      class RawSocket
        BIG = 65_536
        # A server that never ends its head would fill the memory.
        LONGEST_HEAD = 65_536
        HEAD_END = "\r\n\r\n"

        # @param row [#uri, #path, #verify] what to ask, and whether the answer is right
        # @param piece [Integer] bytes asked of the socket at once: one shows what a system call a byte costs
        def initialize(row, piece: BIG)
          @row = row
          @piece = piece
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          uri = @row.uri(id)
          TCPSocket.open(uri.hostname, uri.port) { |socket| @row.verify(id, ask(socket, uri, id, "close")) }
          id
        end

        # @return [Proc]
        def to_proc = method(:call).to_proc

        private

        def ask(socket, uri, id, connection)
          socket.write("GET #{@row.path(id)} HTTP/1.1\r\nHost: #{uri.hostname}:#{uri.port}\r\nConnection: #{connection}\r\n\r\n")
          receive(socket)
        end

        def receive(socket)
          bytes = +"".b
          more(socket, bytes) until (finish = bytes.index(HEAD_END)) || bytes.bytesize > LONGEST_HEAD
          raise IOError, "no end of the head within #{LONGEST_HEAD} bytes" unless finish

          body = finish + HEAD_END.bytesize
          length = bytes[/^content-length: *(\d+)/i, 1].to_i
          more(socket, bytes) until bytes.bytesize >= body + length
          Answer.new(bytes[9, 3], bytes.byteslice(body, length), bytes[/\A\S+ \d+ ([^\r]*)/, 1])
        end

        def more(socket, bytes) = bytes << socket.readpartial(@piece)
      end
    end
  end
end
