# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Protocols
    module MessagePackRPC
      # A value that can't be made an object, in a message that is well formed: the connection goes on.
      class UnpackError < Error; end
    end
  end
end
