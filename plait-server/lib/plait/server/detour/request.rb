# frozen_string_literal: true

module Plait
  class Server
    class Detour
      # What a condition is asked about: Rack's own request, where the gem is there, or else the env itself.
      module Request
        # Loads Rack's now: on a loop the first request would have all others wait for that, a tenth of a second.
        # @return [#call] makes one of env
        def self.maker
          require "rack"
          ::Rack::Request.method(:new)
        rescue LoadError => e
          raise unless e.path == "rack"

          :itself.to_proc
        end
      end
    end
  end
end
