# frozen_string_literal: true

require "plait/io/native"

module Plait
  class Server
    # How many arenas the C library's malloc has, and what is kept out of them. It gives threads arenas of their own, so that
    # they need not wait for each other; Ruby's take turns anyway, and what one of them has freed another one's arena can't use.
    # Each comes to hold what its threads need at most: a server on threads grew by two thirds within minutes. With two it stood
    # still until some thread of the other one got large bodies, after one minute or after five, and had 20 MB more from then
    # on. Large bodies have pages of their own, else what is freed of them stays as gaps below what came later.
    module Arenas
      # As many as there are then.
      COUNT = 1
      # A variable of the environment by which users set the number themselves.
      VARIABLE = "MALLOC_ARENA_MAX"
      # Bytes from which on something is large: what malloc begins with, and raises otherwise by what is freed.
      LARGE = 128 * 1024
      # Free bytes that an arena keeps at its end.
      SPARE = 4 * 1024 * 1024
      VARIABLE_OF_LARGE = "MALLOC_MMAP_THRESHOLD_"

      class << self
        # For all of this process, and its forks: to be called by programs, before there are threads.
        # @return [Boolean] whether their number is limited from now on; not with another malloc, or where the environment sets it
        def limit(env = ENV)
          return false unless Native.available?

          NativeMalloc.map_large(LARGE, SPARE) unless env.key?(VARIABLE_OF_LARGE)
          !env.key?(VARIABLE) && NativeMalloc.limit_arenas(COUNT)
        end
      end
    end

    # Where a server runs: its folder, the environment's name, and what the system lets it have.
    module Surroundings
      # Open files that are asked for at most: some programs that an app begins close all that they could have.
      FILES = 1 << 18
      # Open files that macOS allows: it refuses more, whatever its limit says.
      FEWER = 10_240

      class << self
        # @return [String] the folder; by the name that the shell has for it, behind which a deployment may put another one
        def enter(configuration)
          folder = File.expand_path(configuration.directory || current_folder)
          Dir.chdir(folder)
          name(configuration.environment) if configuration.environment
          raise_limit_of_files
          Arenas.limit
          folder
        rescue SystemCallError => e
          raise UsageError, "the directory #{folder} can't be entered: #{SystemReason.of(e)}"
        end

        # @return [String] by the name that the shell has for it
        def current_folder
          named = ENV["PWD"].to_s
          File.identical?(named, ".") ? named : Dir.pwd
        end

        private

        def name(environment)
          ENV["RACK_ENV"] = environment
          ENV["RAILS_ENV"] ||= environment
        end

        # Each connection is one.
        def raise_limit_of_files
          soft, hard = Process.getrlimit(:NOFILE)
          [FILES, FEWER].find { |files| soft >= [hard, files].min || limit_files([hard, files].min, hard) }
        rescue SystemCallError, NotImplementedError
          nil # then it is as it is, and plait doctor --c10k tells
        end

        # @return [Boolean] whether the system takes that
        def limit_files(soft, hard)
          Process.setrlimit(:NOFILE, soft, hard)
          true
        rescue Errno::EINVAL
          false
        end
      end
    end
    private_constant :Surroundings
  end
end
