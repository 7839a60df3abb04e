# frozen_string_literal: true

module Plait
  class Server
    class Detour
      # What a condition is asked about: Rack's own request, where Rack is loaded, which it is where an app has a config.ru.
      module Request
        # @param env [Hash]
        # @return [Rack::Request, Hash] the env itself without Rack
        def self.of(env) = defined?(::Rack::Request) ? ::Rack::Request.new(env) : env
      end
    end
  end
end
