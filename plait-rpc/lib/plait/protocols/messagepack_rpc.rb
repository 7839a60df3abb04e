# frozen_string_literal: true

require "plait/values"
require_relative "messagepack_rpc/codec"
require_relative "messagepack_rpc/parser"
require_relative "messagepack_rpc/rules"
require_relative "messagepack_rpc/writer"

module Plait
  module Protocols
    # MessagePack-RPC, both roles: requests [0, id, method, params], responses [1, id, error, result] and notifications
    # [2, method, params], one after another on a stream. {Parser} finds their ends, in C
    # (plait-io/ext/plait_io/messagepack_rpc/messagepack_rpc.h) or in Ruby; {Codec} packs and unpacks their values.
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
