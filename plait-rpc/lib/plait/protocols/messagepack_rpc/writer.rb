# frozen_string_literal: true

require "plait/io/native"
require_relative "pure/writer"
require_relative "rules"

module Plait
  module Protocols
    module MessagePackRPC
      # Puts messages together for as few writes as possible. `Writer.new(raw: false, join: 16 * 1024)`; raw: for a peer
      # that knows no str 8.
      #
      # `request(id, method, params)`, `notification(method, params)`, `response(id, result)` and `error(id, error)` append a
      # message around what {Codec#pack} gave, and return self; `take` gives all that is pending as an Array of Strings for
      # one writev. Packed pieces of fewer than `join` bytes are joined; larger ones stand in it as they are, uncopied, and
      # must not be changed until they are written. An error may have a third part, packed too: some peers send its name as
      # the error and what there is to say about it as the result.
      #
      # It raises {LocalProtocolError} for what would break the protocol; then nothing was appended.
      Writer = Native.available? ? NativeWriter : Pure::Writer
    end
  end
end
