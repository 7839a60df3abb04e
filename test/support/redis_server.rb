# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # A Redis without persistence. On a TCP port, and at {#socket_path}.
  class RedisServer < Server
    PROGRAM = Program.new("redis-server", "valkey-server", apt: "redis-server", brew: "redis")

    # @param options [Hash] further settings: `config: { "maxmemory" => "10mb" }`
    def initialize(config: {}, **options)
      super(**options)
      @config = config
    end

    def url = "redis://#{host}:#{port}/0"

    def socket_path = File.join(folder, "redis.sock")

    private

    def command
      settings = { "port" => port, "bind" => host, "unixsocket" => socket_path, "dir" => folder, "save" => "",
                   "appendonly" => "no", "daemonize" => "no" }.merge(@config)
      [PROGRAM.path!, *settings.flat_map { |name, value| ["--#{name}", value.to_s] }]
    end

    def ready?
      Socket.tcp(host, port, connect_timeout: 1) do |socket|
        socket.write("PING\r\n")
        socket.gets == "+PONG\r\n"
      end
    rescue SystemCallError
      false
    end
  end
end
