# frozen_string_literal: true

require "plait/values"
require_relative "io/connector"
require_relative "io/endpoint"
require_relative "io/listener"
require_relative "io/pool"
require_relative "io/resolver"
require_relative "io/stream"

module Plait
  # Descriptors: connecting, listening, reading, writing, and keeping connections for later use. TLS comes with
  # `plait/io/tls`. The room is not called IO: inside `module Plait`, 116 places in 38 files name Ruby's IO.
  module Io
  end
end
