# frozen_string_literal: true

require_relative "tls/client"
require_relative "tls/server"
require_relative "tls/socket"

module Plait
  module Io
    # TLS by OpenSSL, for those who need it: it takes longer to load than the rest of the room.
    module TLS
    end
  end
end
