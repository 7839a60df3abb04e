# frozen_string_literal: true

require "plait/native"

module Plait
  module Native
    # The engines of HTTP, the Rack server and MessagePack-RPC.
    require "plait/plait_io" if available?
  end
end
