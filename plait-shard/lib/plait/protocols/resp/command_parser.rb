# frozen_string_literal: true

require_relative "../../shard/native"
require_relative "limits"
require_relative "pure/command_parser"
require_relative "rules"

module Plait
  module Protocols
    module RESP
      # Bytes in, commands out, as a server reads them. `CommandParser.new(limits: Limits.new)`.
      #
      # `feed` keeps bytes, `finish` says that no more will come, and `next_event` tells what they are: `:command` (see
      # `arguments`, an Array of binary Strings, and `bytesize`), `:closed` when the input ended between two commands, nil when
      # more bytes are needed. Commands without arguments are passed over. It raises {RemoteProtocolError}, {LimitExceeded} or
      # {TruncatedError}, from then on at each call.
      CommandParser = Native.available? ? NativeCommandParser : Pure::CommandParser
    end
  end
end
