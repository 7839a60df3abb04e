# frozen_string_literal: true

require_relative "protocols/http1"

module Plait
  # Bytes in, events out: what is spoken on a connection, without the connection.
  module Protocols
  end
end
