# frozen_string_literal: true

module Plait
  module HTTP
    module HTTP2
      # Lets the window of one of the gem's streams close while nobody takes what has come: the gem would open it again at
      # once, and a body that is taken slowly would fill the memory. Should a later gem not ask for this, it only does that.
      module HeldWindow
        private

        def calculate_window_update(_size)
          error(:flow_control_error) if local_window.negative?
        end
      end
    end
  end
end
