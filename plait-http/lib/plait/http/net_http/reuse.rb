# frozen_string_literal: true

require "plait/protocols/http1/syntax"

module Plait
  module HTTP
    module NetHTTP
      # What a request and its answer tell about their connection, beyond what Net::HTTP looks at.
      module Reuse
        RULES = Protocols::HTTP1::Persistence
        private_constant :RULES

        module_function

        # @return [Boolean] whether it is certain where the answer ended, and that the peer has read the whole request
        def safe?(request, response)
          lengths = response.get_fields("content-length") || []
          return false if lengths.size > 1 || (lengths.any? && response.key?("transfer-encoding")) # RFC 9112 §6.3

          # The peer may have answered instead of asking for the body, and may take what comes next for it.
          !request.key?("expect")
        end

        # @return [Boolean] whether the connection belongs to whoever has logged in on it
        def bound?(request, response)
          RULES.login_in_request?(request.each_header) || RULES.login_in_answer? { |name| response[name] }
        end

        # @return [Float, nil] seconds for which the peer says it keeps the connection, less a margin
        def kept_for(response) = RULES.margin(RULES.kept("timeout", response["keep-alive"]))

        # @return [Integer, nil] further requests that the peer takes on it
        def kept_times(response) = RULES.kept("max", response["keep-alive"])
      end
    end
  end
end
