# frozen_string_literal: true

require_relative "../lock"

module Plait
  module RPC
    class Server
      # Keeps the thread of all fibers from being killed by a method that one of them runs: `Thread.exit`, say. A jump out of an
      # ensure takes a kill back, except where the process ends, which kills its threads and waits until they are dead.
      module Survival
        class << self
          # Said when a server begins: what is said when this file is loaded would come true too early for those who run a
          # server at exit, as test frameworks do.
          # @return [void]
          def expect_exit = @expected ||= at_exit { @exiting = true }

          # @return [Boolean]
          def exiting? = @exiting || false

          # @return [Object, nil] the block's value
          # @raise [Exception] what the block raises
          def of
            value = yield
            over = true
            value
          rescue Exception # rubocop:disable Lint/RescueException
            over = true
            raise
          ensure
            return unless over || exiting? || !Lock.scheduler # rubocop:disable Lint/EnsureReturn
          end
        end
      end
    end
  end
end
