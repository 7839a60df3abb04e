# frozen_string_literal: true

require "plait/values"

module Plait
  module Io
  end

  module Protocols
  end

  module Native
    # The engines of HTTP, the Rack server and MessagePack-RPC.
    require "plait/plait_io" if available?
  end
  private_constant :Io, :Protocols, *constants.grep(/\ANative/)

  # @api private
  # A program that names a room that was public in an earlier version gets the room and a warning.
  def self.const_missing(name)
    return super unless %i[Io Protocols].include?(name)

    warn("Plait::#{name} is private: see guides/upgrading.md", uplevel: 1, category: :deprecated)
    const_get(name)
  end
end
