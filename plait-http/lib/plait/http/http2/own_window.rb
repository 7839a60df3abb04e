# frozen_string_literal: true

module Plait
  module HTTP
    module HTTP2
      # Keeps the window of one of the gem's connections right: the gem adds to it what a peer grants to a stream that has
      # ended meanwhile, which it may (RFC 9113 §5.1), so that more would be sent than may be. Should a later gem not ask for
      # this, it does nothing.
      module OwnWindow
        private

        def process_window_update(frame:, **)
          super if frame[:stream].zero?
        end
      end
    end
  end
end
