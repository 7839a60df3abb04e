# frozen_string_literal: true

module Plait
  class Server
    class Watch
      # What a request is called, among all that run the same code: as the framework has it, or by the beginning of its path.
      module Route
        module_function

        # @param env [Hash]
        # @return [String] "GET /users/:id", "users#show" or "GET /users"
        def of(env)
          env["sinatra.route"] || action(env["action_dispatch.request.path_parameters"]) || beginning(env)
        end

        # @api private
        def action(parameters)
          "#{parameters[:controller]}##{parameters[:action]}" if parameters && parameters[:controller]
        end

        # @api private
        def beginning(env)
          path = env["PATH_INFO"].to_s
          "#{env["REQUEST_METHOD"]} #{path[0, path.index("/", 1) || path.size]}"
        end
      end
    end
  end
end
