# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Ruby warns at the first ractor of a process that the feature is experimental. Who says `on: :ractors` has chosen it;
      # everything else that Ruby calls experimental is still said.
      module Quiet
        SWITCH = Thread::Mutex.new

        # @yield makes a ractor
        # @return [Object] what the block returns
        def self.start
          return yield unless Warning[:experimental]

          SWITCH.synchronize do
            Warning[:experimental] = false
            yield
          ensure
            Warning[:experimental] = true
          end
        end
      end
    end
  end
end
