# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # A twemproxy with a pool for each setting: NutcrackerServer.start(pools: [{ servers: ["127.0.0.1:7001:1"], hash: "md5" }]).
  class NutcrackerServer < Server
    PROGRAM = Program.new("nutcracker", apt: "nutcracker")

    # @return [Array<Integer>] of the pools, in their order
    attr_reader :ports

    # @param pools [Array<Hash>] servers, and what else its file says of a pool
    def initialize(pools:, **options)
      super(**options)
      @pools = pools
    end

    private

    def prepare
      @ports = [port] + Array.new(@pools.size - 1) { Server.free_port }
      File.write(config_path, @pools.each_with_index.map { |pool, index| section(pool, index) }.join)
    end

    def config_path = File.join(folder, "nutcracker.yml")

    def section(pool, index)
      settings = { redis: true, listen: "#{host}:#{@ports[index]}" }.merge(pool.except(:servers))
      lines = settings.map { |name, value| "  #{name}: #{value}\n" } + ["  servers:\n"] +
              pool[:servers].map { |server| "   - #{server}\n" }
      "pool#{index}:\n#{lines.join}"
    end

    # Its port of statistics can't be switched off.
    def command = [PROGRAM.path!, "-c", config_path, "-s", Server.free_port.to_s, "-a", host]

    def ready? = listening?
  end
end
