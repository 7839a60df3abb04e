# frozen_string_literal: true

module Plait
  module HTTP
    module HTTP2
      # Lets the trailers of one of the gem's streams be what they are: the gem wants each value of Trailer to be the name of
      # one, as it is written, where it is a list, in any case, and only a hint (RFC 9110 §6.6.2). Should a later gem not ask
      # for this, it does nothing.
      module AnnouncedTrailers
        private

        def verify_trailers(frame)
          stream_error(:protocol_error, msg: "trailers that do not end the stream") unless end_stream?(frame)
        end
      end
    end
  end
end
