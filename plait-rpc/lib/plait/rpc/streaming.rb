# frozen_string_literal: true

module Plait
  module RPC
    # Arguments and results in chunks: beyond the specification of MessagePack-RPC, made of ordinary requests of the caller with
    # reserved names, and never begun with a peer that has not said that it knows them. The peer sends nothing that it was not
    # asked for, and is sent nothing that it has not made room for. guides/rpc.md tells the protocol.
    module Streaming
      VERSION = 1
      # [version, id] => version: the peer knows all this, and is ready for a call of that number; false: it has too many.
      # Nothing else is sent before: requests may be taken up in any order.
      OPEN = "rpc.stream"
      # [id, method, arguments, index or nil] => the result, or [MARK, id]: it is a stream. The index is that of the argument
      # which is one.
      CALL = "rpc.stream.call"
      # [id] => [chunks, whether these are the last], as soon as there is one.
      NEXT = "rpc.stream.next"
      # [id, chunks, whether these are the last] => whether more is wanted, as soon as there is room.
      PUSH = "rpc.stream.push"
      # [id, message]: there will be no more chunks of the argument, for that reason.
      ABORT = "rpc.stream.abort"
      # [id]: the caller wants no more of it.
      CLOSE = "rpc.stream.close"
      MARK = "rpc.stream"
      # Of a call that has begun.
      CONTINUATIONS = [NEXT, PUSH, ABORT, CLOSE].freeze

      # Bytes that wait for who reads them, before who writes them has to wait too. A single chunk may be larger.
      WINDOW = 256 * 1024
      # What a chunk weighs besides its strings.
      LEAST = 16

      # @return [Integer] about the bytes of a chunk
      def self.weight(chunk)
        case chunk
        when String then chunk.bytesize + LEAST
        when Array then chunk.sum(LEAST) { |one| weight(one) }
        when Hash then chunk.sum(LEAST) { |key, value| weight(key) + weight(value) }
        else LEAST
        end
      end
    end
  end
end
