# frozen_string_literal: true

require_relative "compat/client"
require_relative "compat/client/base"
require_relative "compat/multi_future"
require_relative "compat/server"
require_relative "compat/server/base"
require_relative "compat/session_pool"
require_relative "compat/unix_server_transport"
require_relative "compat/unix_transport"
require_relative "compat/version"
require_relative "../rpc"
require "plait"

module Plait
  module RPC
    # `require "plait/rpc/compat"` instead of "msgpack/rpc": a program written for the gem msgpack-rpc runs, by Plait's client and
    # server. What is different is told in guides/rpc.md.
    module Compat
      # The first element of a request.
      REQUEST = 0
      # That of an answer.
      RESPONSE = 1
      # That of a notification.
      NOTIFY = 2
      # Never sent; programs may name it.
      NO_METHOD_ERROR = 1
      # Never sent; programs may name it.
      ARGUMENT_ERROR = 2
    end
  end
end
