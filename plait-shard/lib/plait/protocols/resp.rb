# frozen_string_literal: true

require_relative "resp/command_parser"
require_relative "resp/decoder"
require_relative "resp/limits"
require_relative "resp/reply_scanner"
require_relative "resp/rules"

module Plait
  module Protocols
    # RESP, the protocol of Redis, versions 2 and 3: commands as a server reads them, and where replies end. Where the
    # extension is, the engine in resp.h does it, else its twin in pure/: same interface, same events, same errors.
    module RESP
    end
  end
end
