# frozen_string_literal: true

require "tmpdir"
require "plait/shard"
require "support/redis_server"
require_relative "source"
require_relative "unit"

# Redis' own tests, against one server and through the proxy over several.
module RedisSuite
  # Runs each unit both ways, each on servers of its own, and tells what passes only directly.
  class Comparison
    NODES = 4
    # The suite asks for them.
    CONFIGURATION = %w[enable-debug-command enable-protected-configs enable-module-command].to_h { |name| [name, "yes"] }.freeze
    # Its tests name keys by the rule of Redis Cluster, have scripts that name none, and users.
    OPTIONS = { placement: :cluster, keyless_scripts: true, users: true, config: true }.freeze
    SHOWN = 300
    private_constant :SHOWN

    # @param kept [String] a folder for sources that are cloned
    # @param units [Array<String>] empty: all
    # @param arguments [Array<String>] further ones for the suite
    # @param out [IO]
    def initialize(kept:, units: [], arguments: [], out: $stdout)
      @source = Source.new(File.dirname(Support::RedisServer::PROGRAM.path!), kept)
      @units = units
      @arguments = arguments
      @out = out
      @direct = @both = 0
    end

    # @return [Float] the share that passes through the proxy of what passes directly
    def run
      Dir.mktmpdir("plait-redis-suite-") do |folder|
        @source.copy_to(folder)
        names = @units.empty? ? Unit.names(folder) : @units
        names.each { |name| compare(Unit.new(folder, name, @arguments)) }
      end
      @out.puts(format("Redis %s: %d tests pass directly, %d of them through the proxy: %.1f %%", @source.version, @direct, @both,
                       share * 100))
      share
    end

    private

    def share = @direct.zero? ? 0.0 : @both.fdiv(@direct)

    def compare(unit)
      direct = unit.run { |&attempt| directly(&attempt) }
      through = unit.run(spoilers: false) { |&attempt| through_proxy(&attempt) }
      passed = direct.select { |_, failure| failure.nil? }.keys
      lost = passed.reject { |name| through.key?(name) && through[name].nil? }
      count(unit, passed, lost)
      lost.each { |name| tell(name, through) }
      tell_end(through)
    end

    def count(unit, passed, lost)
      @direct += passed.size
      @both += passed.size - lost.size
      @out.puts("#{unit.name}: #{passed.size - lost.size} of #{passed.size}") unless passed.empty?
      @out.flush
    end

    def tell(name, through)
      @out.puts("  #{name}: #{through.fetch(name, "not run").to_s.gsub(/\s+/, " ")[0, SHOWN]}")
    end

    def tell_end(through)
      ending = through["(the unit ended)"]
      @out.puts("  the unit ended: #{ending.gsub(/\s+/, " ")[0, SHOWN]}") if ending
    end

    def directly = with_servers(1) { |servers| yield(servers.first.port) }

    def through_proxy
      with_servers(NODES) do |servers|
        nodes = servers.map { |server| "127.0.0.1:#{server.port}" }
        Plait::Shard::Proxy.open(nodes: nodes, listen: "127.0.0.1:0", **OPTIONS) { |proxy| yield(proxy.port) }
      end
    end

    def with_servers(count)
      servers = Array.new(count) { Support::RedisServer.start(config: CONFIGURATION) }
      yield servers
    ensure
      servers&.each(&:stop)
    end
  end
end
