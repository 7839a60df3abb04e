# frozen_string_literal: true

require_relative "redis_server"

module Support
  # A Sentinel that watches masters, none of which is down before a minute. It writes to its file by itself.
  class RedisSentinel < RedisServer
    # @param masters [Hash{String => RedisServer}] by name
    # @param quorum [Integer] Sentinels that have to agree that one is down
    def initialize(masters:, quorum: 1, **options)
      super(**options)
      @masters = masters
      @quorum = quorum
    end

    private

    def prepare
      watched = @masters.flat_map { |name, server| lines(name, server) }
      File.write(path, ["port #{port}", "bind #{host}", "dir #{folder}", *watched].join("\n"))
    end

    def lines(name, server)
      ["sentinel monitor #{name} 127.0.0.1 #{server.port} #{@quorum}", "sentinel down-after-milliseconds #{name} 60000",
       "sentinel failover-timeout #{name} 60000"]
    end

    def path = File.join(folder, "sentinel.conf")

    def command = [PROGRAM.path!, path, "--sentinel"]
  end
end
