# frozen_string_literal: true

module Plait
  # See {Client}.
  module HTTP
    # Somebody who is asked before each request goes out, and may answer in the server's place: what test libraries hook
    # into. There is one for all clients of the process, or none.
    module Interception
      class << self
        # @return [#call, nil] called with a {Request}, the {Headers} that go out with it, and a block that sends it and
        #   returns the {Response}; returns the {Response} to use
        attr_accessor :current
      end
    end
  end
end
