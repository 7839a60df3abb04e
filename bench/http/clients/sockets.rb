# frozen_string_literal: true

require_relative "by_workers"
require_relative "sockets/connection"

module Bench
  module HTTP
    module Clients
      # What one writes by hand on sockets, for one origin that is known to behave.
      class Sockets < ByWorkers
        private

        def open = Connection.new(site)
      end
    end
  end
end
