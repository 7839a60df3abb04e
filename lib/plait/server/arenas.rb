# frozen_string_literal: true

require_relative "../native"

module Plait
  class Server
    # How many arenas the C library's malloc has. It gives threads arenas of their own, so that they need not wait for each other;
    # Ruby's take turns anyway, and what one of them has freed another one's arena can't use: a server on threads grew by
    # two thirds within minutes, and by much less with two arenas, where it settles.
    module Arenas
      # As many as there are then.
      COUNT = 2
      # In the environment: somebody knows better.
      VARIABLE = "MALLOC_ARENA_MAX"

      # For all of this process, and its forks: to be called by programs, before there are threads.
      # @param env [ENV, Hash]
      # @return [Boolean] whether that is so from now on; not where malloc is another one, or was told otherwise
      def self.limit(env = ENV)
        Native.available? && !env.key?(VARIABLE) && NativeMalloc.limit_arenas(COUNT)
      end
    end
  end
end
