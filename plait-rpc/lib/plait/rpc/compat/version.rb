# frozen_string_literal: true

require "msgpack"
require "plait/values/errors"

if MessagePack.const_defined?(:RPC, false)
  raise Plait::UsageError, "msgpack-rpc is loaded already, and plait/rpc/compat is to be loaded in its place: " \
                           "take out the other require"
end

module Plait
  module RPC
    # What is defined in here has the names that programs written for msgpack-rpc know.
    Compat = MessagePack.const_set(:RPC, Module.new)

    module Compat
      # Of the msgpack-rpc whose face this is.
      VERSION = "0.7.0"
    end
  end
end
