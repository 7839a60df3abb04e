# frozen_string_literal: true

require_relative "../../shard/native"
require_relative "limits"
require_relative "pure/reply_scanner"
require_relative "rules"

module Plait
  module Protocols
    module RESP
      # Finds where replies end. `ReplyScanner.new(limits: Limits.new)`.
      #
      # `feed` keeps bytes, `finish` says that no more will come, and `next_event` tells what they are: `:reply` (see `type`, its
      # first byte, and `bytes`, the whole of it), `:closed` when the input ended between two replies, nil when more bytes are
      # needed. It raises {RemoteProtocolError}, {LimitExceeded} or {TruncatedError}, from then on at each call.
      ReplyScanner = Native.available? ? NativeReplyScanner : Pure::ReplyScanner
    end
  end
end
