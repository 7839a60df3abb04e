# frozen_string_literal: true

require_relative "../../io/native"
require_relative "pure/parser"
require_relative "rules"

module Plait
  module Protocols
    module HTTP1
      # Bytes in, events out. {ResponseParser} and {RequestParser} say for which role.
      #
      # `feed` keeps bytes, `finish` says that no more will come, and `next_event` tells what they are:
      #
      # - `:head`: see `head`. After one that is `interim?` (1xx) another comes.
      # - `:data`: see `data`, a binary String of at least a byte.
      # - `:trailers`: see `trailers`, an Array of [name, value]; only if there were any.
      # - `:done`, again and again until the next message is started; `rest` are the bytes behind it: the next message's, or
      #   of the protocol in the tunnel (`head.framing == :tunnel`).
      # - `:closed`: the input ended where a message could have begun.
      # - nil: more bytes are needed.
      #
      # It raises {RemoteProtocolError}, {LimitExceeded} or {TruncatedError}, from then on at each call. What the events are
      # does not depend on how the bytes were cut.
      Parser = Native.available? ? NativeParser : Pure::Parser
    end
  end
end
