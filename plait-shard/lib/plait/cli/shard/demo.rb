# frozen_string_literal: true

require_relative "../../suites/shard/redis_servers"
require "plait/values/errors"
require "plait/cli/command"

module Plait
  module CLI
    class Shard < Command
      # redis-servers of our own to be tried with.
      module Demo
        # @param count [Integer]
        # @yieldparam nodes [Array<String>]
        # @raise [UnsupportedError] without redis-server, or when it does not start
        def self.open(count, &)
          unless Suites::RedisServers.program
            raise UnsupportedError, "#{Suites::RedisServers::ADVICE}, or name servers that are running with --nodes"
          end

          Suites::RedisServers.open(count, &)
        end
      end
    end
  end
end
