# frozen_string_literal: true

module Plait
  class Pool
    # The child of a fork has its parent's connections too, and would say goodbye on them when it ends, or when they are
    # collected: the server would close what the parent goes on using. So they are given up in the child, silently and at once.
    module Forks
      @watched = ObjectSpace::WeakMap.new

      # Of Process, whose every way to fork goes through these two.
      module Hook
        def _fork = super.tap { |pid| Forks.abandon_all if pid.zero? }

        # What goes on is a child.
        def daemon(...) = super.tap { Forks.abandon_all }
      end

      class << self
        # @param owner [#abandon] of connections
        # @return [void]
        def watch(owner)
          install
          @watched[owner] = true
        end

        # @api private
        def abandon_all = @watched.each_key(&:abandon)

        private

        def install
          return if @installed

          Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
          @installed = true # last: another thread goes on only with the hook in place
        end
      end
    end
  end
end
