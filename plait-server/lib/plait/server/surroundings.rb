# frozen_string_literal: true

require_relative "arenas"
require "plait/values/errors"
require "plait/values/system_reason"

module Plait
  class Server
    # Where a server runs: its folder, the environment's name, and what the system lets it have.
    module Surroundings
      # Open files that are asked for at most: some programs that an app begins close all that they could have.
      FILES = 1 << 18

      class << self
        # @param configuration [Configuration]
        # @return [String] the folder; by the name that the shell has for it, behind which a deployment may put another one
        # @raise [UsageError]
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
          Process.setrlimit(:NOFILE, [hard, FILES].min, hard) if soft < [hard, FILES].min
        rescue SystemCallError, NotImplementedError
          nil # then it is as it is, and plait doctor --c10k tells
        end
      end
    end
  end
end
