# frozen_string_literal: true

require_relative "../codings"

module Plait
  module HTTP
    class Exchange
      # Undoes the coding of a response's body, where that coding was our idea.
      class Decoding
        # @param client [Client]
        # @param request [Request]
        # @param response [Response]
        # @return [Decoding, nil] nil: the body is given out as it comes
        def self.for(client, request, response)
          return unless response.encoded? && response.status != 206 && client.heads.decode?(request) # a part can't be decoded

          coding = response["content-encoding"]
          new(coding, client.settings.limits.body, request.origin) if Codings.known?(coding)
        end

        # @param coding [String]
        # @param max [Integer, nil] bytes
        # @param origin [Origin]
        def initialize(coding, max, origin)
          @coding = coding
          @limits = { max: max, endpoint: origin }
        end

        # @param response [Response] whole
        # @return [void]
        # @raise [LimitExceeded, RemoteProtocolError]
        def apply(response)
          return if response.body.nil? || response.body.empty?

          response.body = Codings.decode(response.body, @coding, **@limits)
          response.decoded = true
        end

        # @param response [Response] whose body comes piece by piece
        # @return [Codings::Decoder]
        def decoder(response)
          response.decoded = true
          Codings.decoder(@coding, **@limits)
        end
      end
    end
  end
end
