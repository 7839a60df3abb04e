# frozen_string_literal: true

require_relative "tls/client"
require_relative "tls/server"
require_relative "tls/socket"

module Plait
  module Io
    # TLS by OpenSSL. It takes longer to load than the other parts, so that programs require it by name.
    module TLS
    end
  end
end
