# frozen_string_literal: true

require_relative "io/connector"
require_relative "io/endpoint"
require_relative "io/listener"
require_relative "io/pool"
require_relative "io/resolver"
require_relative "io/stream"

module Plait
  # Descriptors: connecting, listening, reading, writing, and keeping connections for later use. Not
  # Plait::IO, which would hide Ruby's IO from everything inside Plait. TLS comes with `plait/io/tls`.
  module Io
  end
end
