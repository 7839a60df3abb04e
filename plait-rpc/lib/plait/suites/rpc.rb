# frozen_string_literal: true

require "plait/lab"
require_relative "rpc/peer"
require_relative "rpc/transfer"

module Plait
  module Suites
    # MessagePack-RPC with big answers, held against a copy in memory: the classic table, and sixteen threads that share one
    # client.
    class Rpc < Suite
      # The rows of all sizes as tables: a line for each way, a column for each size.
      class ClassicTables
        # @param sizes [Hash{String => Integer}] megabytes of each group
        # @param ways [Hash{Lab::Cell => String}] what the row of a cell is called, whatever its size
        # @param local [String] the way that all are held against
        def initialize(rows, sizes, ways, local)
          @sizes = sizes.select { |group, _| rows.any? { |row| row.group == group } }
          @rows = rows.group_by { |row| ways.fetch(row.cell) }
          @local = local
        end

        # @return [Array<Lab::Table>]
        def all
          [table("seconds") { |row| Lab::Quantity.seconds(seconds(row)) },
           table("MBps (1,048,576 bytes in a second)", average: "average") { |row| rate(row) },
           table("standard deviation of the seconds") { |row| deviation(row) },
           table("MBps, relative to #{@local}", average: "average") { |row| ratio(row) }]
        end

        private

        def table(title, average: nil, &figure)
          columns = ["", *@sizes.keys, *average]
          lines = @rows.keys.map { |way| [way, *cells(way, &figure), *(shown(average(way, &figure)) if average)] }
          Lab::Table.new(title, columns, lines)
        end

        def cells(way, &figure) = @sizes.each_key.map { |group| shown(row(way, group)&.then(&figure)) }

        def shown(figure) = figure.is_a?(Numeric) ? Lab::Quantity.number(figure) : figure || Lab::Quantity::UNKNOWN

        def average(way, &figure)
          figures = @sizes.each_key.filter_map { |group| row(way, group)&.then(&figure) }
          figures.sum / figures.size if figures.any?
        end

        def row(way, group) = @rows[way].find { |row| row.group == group && row.measured? }

        # Each trial moves it several times, where it is small.
        def seconds(row) = row.wall.median / times(row)

        def times(row) = row.cell.items.sum { |_, count| count }.fdiv(@sizes.fetch(row.group) * Blocks::PER_MEGABYTE)

        def rate(row) = @sizes.fetch(row.group) / seconds(row)

        def deviation(row) = row.n > 1 ? Lab::Quantity.seconds(row.wall.deviation / times(row)) : Lab::Quantity::UNKNOWN

        def ratio(row)
          local = row(@local, row.group)
          seconds(local) / seconds(row) if local
        end
      end

      PLACE = 40
      # It compares ways to call, and no mechanisms.
      APART = true
      NAME = "rpc"
      TITLE = "MessagePack-RPC"
      SUMMARY = "answers of 1 to 128 MB by MessagePack-RPC, held against a copy in memory"
      DESCRIPTION = "Every way moves the same bytes from a server in another process; both \"Local\" move them within one"
      # Megabytes: the columns of the classic table.
      SIZES = [1, 2, 4, 8, 16, 32, 64, 128].freeze
      # Seconds: half more than ten rounds take on a slow machine with two cores.
      BUDGET = 600.0
      OPTIONS = { sizes: "how large the answers are (default: 1,2,4,8 … 128, the classic table)" }.freeze
      EXAMPLES = { "plait lab rpc --sizes 1,16 --rounds 5" => "two columns of the classic table" }.freeze
      LARGEST = 512
      # Megabytes that a trial moves at least, so that it is longer than what starts it.
      LEAST = 16

      SERVERS = (Process.respond_to?(:fork) ? %i[threads fibers hybrid processes] : %i[threads]).freeze
      THREADS = 4
      MANY = 16
      LOCAL = "Local, copy"
      NOTES = ["Each answer is written to freshly mapped memory, so page faults are part of every row. Where the C " \
               "library has some of that size left from before, a row is up to three times as fast: \"bin/bench rpc\" " \
               "counts the faults."].freeze

      # One way: its name, what makes a body of it, and how many threads make calls, each of its part.
      Way = Struct.new(:name, :body, :threads) do
        # @return [Boolean] no call is made: it shows what is possible
        def local? = name.start_with?("Local")
      end
      MEGABYTES = ->(value) { value.is_a?(Integer) && value.between?(1, LARGEST) }

      private

      # @param sizes [Array<Integer>] megabytes
      def build(sizes: SIZES, on: nil, **)
        check("sizes", sizes, "some megabytes", &:any?)
        sizes.each { |one| check("size", one, "a whole number of megabytes from 1 to #{LARGEST}", &MEGABYTES) }
        servers = Servers.new(SERVERS, sizes.max * Blocks::PER_MEGABYTE)
        [workload(sizes.uniq, ways(Blocks.new(sizes.max * Blocks::PER_MEGABYTE), servers), servers, on)]
      end

      def ways(blocks, servers)
        [Way.new(LOCAL, Transfer.copy(blocks)),
         Way.new("Local, pack + unpack", Transfer.pack(blocks)),
         Way.new("Sync", caller_of(servers).sync),
         Way.new("Async + get", caller_of(servers).async),
         Way.new("Async map", caller_of(servers).map),
         Way.new("Sync, #{THREADS} threads", caller_of(servers).sync, THREADS),
         *SERVERS.map { |on| Way.new("#{MANY} threads, one client; server on #{on}", caller_of(servers, on).sync, MANY) }]
      end

      def caller_of(servers, on = SERVERS.first) = Transfer::Caller.new(servers, on)

      def workload(sizes, ways, servers, on)
        names = {}.compare_by_identity
        cells = sizes.product(ways).map { |size, way| cell(size, way).tap { |cell| names[cell] = way.name } }
        groups = sizes.to_h { |size| [group(size), size] }
        Lab::Workload.new(name: NAME, title: TITLE, work: "gets by RPC", description: DESCRIPTION, unit: "calls", notes: NOTES,
                          cells: only(cells, on), around: ->(&block) { servers.around(&block) },
                          tables: ->(rows) { ClassicTables.new(rows, groups, names, LOCAL).all })
      end

      def group(size) = "#{size} MB"

      def cell(size, way)
        blocks = size * Blocks::PER_MEGABYTE
        parts = way.threads ? Transfer.divide(blocks, way.threads) : [[0, blocks]]
        Lab::Cell.new(label: "#{way.name}, #{group(size)}", group: group(size), on: way.threads ? :threads : :sequence,
                      limit: way.threads || 1, items: parts * [LEAST / size, 1].max, body: way.body,
                      digest: ->(bytes) { bytes.sum.to_s }, warmup_items: parts, memory_items: parts, choice: !way.local?)
      end
    end
  end
end
