# frozen_string_literal: true

module Plait
  module DB
    # The child of a fork has its parent's connections too, and would say goodbye on them when it ends: the server would
    # close what the parent goes on using. So they are given up in the child, silently and at once.
    module Forks
      @sessions = ObjectSpace::WeakMap.new

      # Of Process, whose every way to fork goes through it.
      module Hook
        def _fork = super.tap { |pid| Forks.abandon_all if pid.zero? }
      end

      class << self
        # @param session [Session]
        # @return [void]
        def watch(session)
          install
          @sessions[session] = true
        end

        # @api private
        def abandon_all = @sessions.each_key(&:abandon)

        private

        def install
          return if @installed

          @installed = true
          Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
        end
      end
    end
  end
end
