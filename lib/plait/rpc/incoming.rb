# frozen_string_literal: true

module Plait
  module RPC
    # A request or a notification of the peer.
    Incoming = Struct.new(:connection, :id, :method_name, :params)
  end
end
