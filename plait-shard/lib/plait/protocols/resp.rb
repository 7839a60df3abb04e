# frozen_string_literal: true

require "plait/values"
require "plait/protocols/rulebook"
require_relative "../shard/native"

module Plait
  module Protocols
    # Replies of RESP, the protocol of Redis, versions 2 and 3, for the control plane. Only C reads commands
    # (plait-shard/ext/plait_shard/resp/resp.h).
    #
    # {ReplyScanner} is part of the extension: bytes in, replies out. `feed` adds bytes, and `finish` ends the input. `next_event`
    # is `:reply` (see `type`, its first byte, and `bytes`, all of it), `:closed` when the input ended between two replies, or
    # nil when more bytes are needed. After a {RemoteProtocolError}, {LimitExceeded} or {TruncatedError} each call raises it.
    # `encode(words)` makes the bytes of a command. `decode(bytes)` makes of a whole reply a String, an Integer, a Float, true,
    # false, nil, an Array, a Hash, or a {Failure}. Attributes are skipped.
    module RESP
      # Limits of a reply: bytes of a string, and elements of all its aggregates together.
      LIMITS = { bulk: 512 << 20, elements: 1 << 30 }.freeze

      # An error in a reply.
      Failure = Struct.new(:message)
      define_values(Failure) if respond_to?(:define_values)

      # The rules that a reply can break, as the engine has them (RESP_RULES in resp.h).
      module Rules
        # The error, and the limit that allows more.
        Rule = Struct.new(:text, :limit) do
          def section = "RESP, protocol specification"
        end

        ALL = (RESP.const_defined?(:ReplyScanner) ? ReplyScanner.rules : {})
              .transform_values { |fields| Rule.new(*fields).freeze }.freeze

        PROTOCOL = "RESP"

        extend Rulebook
      end
    end
  end
end
