# frozen_string_literal: true

require "plait/io/native"
require_relative "limits"
require_relative "pure/parser"
require_relative "rules"
require_relative "skeleton"

module Plait
  module Protocols
    module MessagePackRPC
      # Bytes in, messages out, for either side of a connection. `Parser.new(limits: Limits.new, large: 64 * 1024)`.
      #
      # `feed` keeps bytes, `finish` says that no more will come, and `next_event` tells what they are:
      #
      # - `:request` (see `id`, `method_name`, `params`), `:notification` (`method_name`, `params`), `:response` (`id`,
      #   `error`, `result`): a whole message. `params`, `error` and `result` are packed, for {Codec#unpack}; they are there
      #   until the next `next_event`. `error` is nil where the peer has sent nil.
      # - `:large`: a str or bin of at least `large` bytes has begun that is not all here. `kind` and `id` are known, so that
      #   who does not want it can `discard` the message. Bytes go straight into `body`, the final String: by `feed`, or
      #   appended to it, up to `missing` of them.
      # - `:discarded`: the end of a message that nobody wanted.
      # - `:closed`: the input ended between two messages.
      # - nil: more bytes are needed.
      #
      # It raises {RemoteProtocolError}, {LimitExceeded} or {TruncatedError}, from then on at each call until `reset`. A message
      # over the limit can be left out: `excuse`, where its id and the end of the string that is too long are known. What
      # it tells of messages does not depend on how the bytes were cut.
      Parser = Native.available? ? NativeParser : Pure::Parser
    end
  end
end
