# frozen_string_literal: true

require_relative "messagepack_rpc/codec"
require_relative "messagepack_rpc/limits"
require_relative "messagepack_rpc/parser"
require_relative "messagepack_rpc/writer"

module Plait
  module Protocols
    # MessagePack-RPC, both roles: requests [0, id, method, params], responses [1, id, error, result] and notifications
    # [2, method, params], one after another on a stream. Where the extension is, the engine in messagepack_rpc.h
    # finds where they end, else its twin in pure/: same interface, same events, same errors. What is in them is packed and
    # unpacked by the gem msgpack, see {Codec}.
    #
    # @example A server
    #   until (event = parser.next_event) == :closed
    #     case event
    #     when nil      then (bytes = read) ? parser.feed(bytes) : parser.finish
    #     when :request then writer.response(parser.id, codec.pack(add(*codec.unpack(parser.params))))
    #     end
    #     write(*writer.take) unless writer.empty?
    #   end
    module MessagePackRPC
    end
  end
end
