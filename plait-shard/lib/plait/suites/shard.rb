# frozen_string_literal: true

require_relative "../shard"
require_relative "shard/redis_servers"
require_relative "shard/trial"
require "plait/lab"

module Plait
  module Suites
    # The comparison of redis-sharding: each strategy of the proxy's buffers with small and large chunks, over values
    # of 16 bytes to 8 MiB; KEYS over a million keys on one server and on four; and an MSET of 92 MB. Time, and memory before,
    # at the peak, and after. The servers are started for it.
    class Shard < Suite
      PLACE = 70
      APART = true
      NAME = "shard"
      TITLE = "Redis sharding"
      SUMMARY = "the proxy's strategies and chunks over values of all sizes, KEYS over a million keys, an MSET of 92 MB"
      # Seconds; rows that differ are settled before.
      BUDGET = 1200.0
      EXAMPLES = { "plait lab shard --scale 0.1 --rounds 1" => "the quickest look at the proxy" }.freeze

      SIZES = [16, 1 << 10, 32 << 10, 1 << 20, 8 << 20].freeze
      KEYS = 1_000_000
      PAIRS = 10_000
      NODES = 4
      STRATEGIES = %i[strict lazy auto].freeze
      CHUNKS = { "4k" => 4 << 10, "32k" => 32 << 10 }.freeze
      DIRECT = "direct"
      ONE, MANY = [", 1 node", ", #{NODES} nodes"].freeze
      NOTES = ["One client, one thread of the proxy; client, proxy and servers share the processors of this machine. CPU and " \
               "memory belong to the proxy's process, a Ruby; with \"#{DIRECT}\", one server without a proxy, to the " \
               "server. Peak and after are what the process has more than before.",
               "\"auto\" forwards from 64 KiB on, whatever smaller chunk it is given."].freeze

      private

      # @param scale [Numeric] the size of the work, 1 for the full one
      def build(scale: 1, on: nil, **)
        check_scale(scale)
        RedisServers.program or raise UnsupportedError, "the suite shard needs Redis: #{RedisServers::ADVICE}"
        Plait::Shard::Proxy.new(nodes: ["127.0.0.1:1"]) # says whether there are proxies here
        [values(scale, on), keys([(KEYS * scale).round, NODES].max, on), mset([(PAIRS * scale).round, 1].max, on)]
      end

      def values(scale, on)
        tasks = SIZES.map { |bytes| Tasks::Values.new(bytes, scale) }
        experiment("values", "values of 16 B to 8 MiB", on) do |addresses|
          tasks.product([direct, *proxies]).map { |task, way| cell(way, task, task.name, addresses) }
        end
      end

      def keys(count, on)
        task = Tasks::Keys.new(count)
        group = "KEYS over #{Lab::Quantity.count(count)} keys"
        parts = [1, NODES].flat_map { |nodes| task.fill(nodes) }
        fill = ->(addresses) { parts.zip(addresses) { |part, node| write(part, node) } }
        experiment("keys", group, on, servers: NODES + 1, fill: fill) do |addresses|
          [direct, *proxies(0...1, ONE), *proxies(1..NODES, MANY)].map { |way| cell(way, task, group, addresses) }
        end
      end

      def mset(count, on)
        task = Tasks::Mset.new(count)
        group = "MSET of #{Lab::Quantity.count(count)} keys of 1 KiB with 8 KiB each"
        experiment("mset", group, on) { |addresses| [direct, *proxies].map { |way| cell(way, task, group, addresses) } }
      end

      # @yieldparam addresses [Proc] for the cells: => the servers' addresses, once they run
      def experiment(name, title, on, servers: NODES, fill: nil)
        here = nil
        around = lambda do |&block|
          RedisServers.open(servers) do |addresses|
            fill&.call(addresses)
            here = addresses
            block.call
          end
        end
        cells = only(yield(-> { here }), on)
        Experiment.new(name: "#{NAME}-#{name}", title: "#{TITLE}, #{title}", description: SUMMARY, unit: "commands", notes: NOTES,
                       work: "", cells: cells, around: around)
      end

      # To the first of the servers.
      def direct = Way.new(DIRECT, nil, 0...1)

      # @param nodes [Range] of the servers
      def proxies(nodes = 0...NODES, ending = "")
        STRATEGIES.product(CHUNKS.to_a).map do |strategy, (name, bytes)|
          Way.new("#{strategy} #{name}#{ending}", { strategy: strategy, chunk: bytes }, nodes)
        end
      end

      def cell(way, task, group, addresses)
        Lab::Cell.new(label: "#{way.name}, #{group}", group: group, on: :sequence, items: task.exchanges, body: :itself.to_proc,
                      runner: Trial.new(way, task, addresses), choice: way.name != DIRECT)
      end

      def write(exchanges, address)
        Conversation.open(Integer(address[/\d+\z/])) { |client| exchanges.each { |exchange| client.time(exchange) } }
      end

      # A workload whose report is that of the comparison: for each task a table of the time, and of the memory of the process on
      # the way before, at the peak, and after.
      class Experiment < Lab::Workload
        COLUMNS = ["", "time", "min – max", "n", "commands/s", "MB/s", "CPU", "memory before", "peak", "1 s after"].freeze

        def tables(rows)
          rows.group_by(&:group).map { |group, some| Lab::Table.new("#{title}: #{group}", COLUMNS, some.map { |row| line(row) }) }
        end

        private

        def line(row)
          wall = row.wall
          [name_of(row), quantity.seconds(wall.median), spread(wall), wall.n.to_s, quantity.number(row.rate.median),
           quantity.number(megabytes(row) / wall.median), quantity.seconds(row.cpu.median), *memory(row)]
        end

        def spread(wall) = wall.n > 1 ? "#{quantity.seconds(wall.min)} – #{quantity.seconds(wall.max)}" : quantity::UNKNOWN

        def memory(row)
          [quantity.bytes(row.own("before_bytes").median), "+#{quantity.bytes(row.peak.median)}",
           format("%+.1f MB", row.own("after_bytes").median / 1e6)]
        end

        def megabytes(row) = row.cell.items.sum(&:bytes) / 1e6

        def name_of(row) = row.label.delete_suffix(", #{row.group}")

        def quantity = Lab::Quantity
      end
      private_constant :Experiment
    end
  end
end
