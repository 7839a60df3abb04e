# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Protocols
    module MessagePackRPC
      # A value that MessagePack has no form for.
      class PackError < LocalProtocolError; end
    end
  end
end
