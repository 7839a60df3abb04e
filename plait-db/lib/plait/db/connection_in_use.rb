# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module DB
    # Two fibers or threads on one connection.
    class ConnectionInUse < UsageError
      def initialize(message = "this connection is in the middle of another fiber's or thread's call: each takes one of its " \
                               "own, by a call of the database or its `with`")
        super
      end
    end
  end
end
