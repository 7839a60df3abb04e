# frozen_string_literal: true

require_relative "client"

module Bench
  module RPC
    module Clients
      # What plain sockets can do in Ruby: 8 bytes of head (what, how much), and the bytes as they are.
      class Sockets < Client
        HEAD = "a4N"
        HEAD_SIZE = 8

        class << self
          def serve(service, tell) = by_threads(tell) { |socket| answer(socket, service) }

          private

          def answer(socket, service)
            while (head = socket.read(HEAD_SIZE))
              what, number = head.unpack(HEAD)
              case what
              when "add " then socket.write([what, number + 1].pack(HEAD))
              when "get " then send_body(socket, service.get(number))
              else socket.write([what, service.put(socket.read(number))].pack(HEAD))
              end
            end
          rescue SystemCallError
            socket.close
          end

          def send_body(socket, body) = socket.write(["get ", body.bytesize].pack(HEAD), body)
        end

        def initialize(port)
          super
          @socket = self.class.socket(port)
        end

        def get(size)
          ask("get ", size)
          @socket.read(number)
        end

        def put(bytes)
          @socket.write(["put ", bytes.bytesize].pack(HEAD), bytes)
          number
        end

        def add(left, _right)
          ask("add ", left)
          number
        end

        private

        def ask(what, number) = @socket.write([what, number].pack(HEAD))

        def number = @socket.read(HEAD_SIZE).unpack1("x4N")

        def together(calls)
          @socket.write(calls.map { |what, argument| [what.name.ljust(4), argument].pack(HEAD) }.join)
          calls.map { |what, _| what == :get ? @socket.read(number) : number }
        end
      end
    end
  end
end
