# frozen_string_literal: true

module Plait
  module HTTP
    module NetHTTP
      # What a request and its answer tell about their connection, beyond what Net::HTTP looks at.
      module Reuse
        # Those log a connection in, and not a request (RFC 4559 §6).
        BOUND = /(?:\A|,)\s*(?:NTLM|Negotiate)\b/i

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
          answer = { "401" => "www-authenticate", "407" => "proxy-authenticate" }[response.code]
          [request["authorization"], request["proxy-authorization"], answer && response[answer]].any?(BOUND)
        end

        # @return [Numeric, nil] seconds for which the peer says it keeps the connection, less those a request is under way
        def kept_for(response)
          seconds = response["keep-alive"]&.[](/\btimeout=(\d{1,9})/i, 1)&.to_i
          seconds && [seconds - 1, seconds / 2.0].max
        end
      end
    end
  end
end
