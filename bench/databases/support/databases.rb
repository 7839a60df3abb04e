# frozen_string_literal: true

require_relative "../../harness/gem_paths"

module Bench
  # The servers of databases that contestants ask.
  module Databases
    # Cases that ask none.
    WITHOUT = /\Apool/
    ROOT = File.expand_path("../../..", __dir__)
    GEMS = %w[plait plait-shard trilogy mysql2 pg].freeze
    private_constant :WITHOUT, :ROOT, :GEMS

    module_function

    # Starts and fills those that are installed; contestants find them by their environment.
    # @param arguments [Array<String>] of the command
    # @return [Object] what the block returns
    def around(arguments, &block)
      only = arguments[arguments.index("--only") + 1] if arguments.include?("--only")
      return yield if only&.match?(WITHOUT)

      Harness::GemPaths.new(ROOT).load(*GEMS)
      require "plait/suites"
      require "plait/suites/databases"
      mariadb, postgres = [Plait::Suites::Databases::Mariadb, Plait::Suites::Databases::Postgres].map(&:new)
      with(mariadb) { with(postgres) { with_redis(&block) } }
    end

    def with_redis
      require "plait/suites/shard/redis_servers"
      return yield unless Plait::Suites::RedisServers.program

      Plait::Suites::RedisServers.open(1) do |(address)|
        ENV["PLAIT_BENCH_REDIS"] = "redis://#{address}"
        yield
      end
    end

    def with(server)
      return yield unless server.installed? && server.ways.any?

      value = nil
      server.around do
        server.ways.each { |way| ENV["PLAIT_BENCH_#{way.upcase}"] = server.url(way) }
        value = yield
      end
      value
    end
    private_class_method :with, :with_redis
  end
end
