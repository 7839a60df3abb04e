# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/lab"
require_relative "rpc/classic_workload"
require_relative "rpc/peer"
require_relative "rpc/transfer"

module Plait
  module Suites
    # MessagePack-RPC with big answers, held against a copy in memory: the classic table, and sixteen threads that share one
    # client.
    class Rpc < Suite
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
      Way = Struct.new(:name, :body, :threads, keyword_init: true) do
        # @return [Boolean] no call is made: it shows what is possible
        def local? = name.start_with?("Local")
      end
      MEGABYTES = ->(value) { value.is_a?(Integer) && value.between?(1, LARGEST) }
      private_constant :Way, :MEGABYTES

      private

      # @param sizes [Array<Integer>] megabytes
      def build(sizes: SIZES, on: nil, **)
        check("sizes", sizes, "some megabytes", &:any?)
        sizes.each { |one| check("size", one, "a whole number of megabytes from 1 to #{LARGEST}", &MEGABYTES) }
        servers = Servers.new(SERVERS, sizes.max * Blocks::PER_MEGABYTE)
        [workload(sizes.uniq, ways(Blocks.new(sizes.max * Blocks::PER_MEGABYTE), servers), servers, on)]
      end

      def ways(blocks, servers)
        main = SERVERS.first
        [Way.new(name: LOCAL, body: Transfer::Copy.new(blocks)),
         Way.new(name: "Local, pack + unpack", body: Transfer::Packed.new(blocks)),
         Way.new(name: "Sync", body: Transfer::Sync.new(servers, main)),
         Way.new(name: "Async + get", body: Transfer::Async.new(servers, main)),
         Way.new(name: "Async map", body: Transfer::Map.new(servers, main)),
         Way.new(name: "Sync, #{THREADS} threads", body: Transfer::Sync.new(servers, main), threads: THREADS),
         *SERVERS.map { |one| shared(servers, one) }]
      end

      def shared(servers, mechanism)
        Way.new(name: "#{MANY} threads, one client; server on #{mechanism}", body: Transfer::Sync.new(servers, mechanism),
                threads: MANY)
      end

      def workload(sizes, ways, servers, on)
        names = {}.compare_by_identity
        cells = sizes.product(ways).map { |size, way| cell(size, way).tap { |cell| names[cell] = way.name } }
        ClassicWorkload.new(name: NAME, title: TITLE, work: "gets by RPC", description: DESCRIPTION, unit: "calls",
                            cells: only(cells, on),
                            around: ->(&block) { servers.around(&block) }, local: LOCAL, ways: names, notes: NOTES,
                            sizes: sizes.to_h { |size| [group(size), size] })
      end

      def group(size) = "#{size} MB"

      def cell(size, way)
        blocks = size * Blocks::PER_MEGABYTE
        parts = way.threads ? Transfer.divide(blocks, way.threads) : [[0, blocks]]
        Lab::Cell.new(label: "#{way.name}, #{group(size)}", group: group(size), on: way.threads ? :threads : :sequence,
                      limit: way.threads || 1, items: parts * [LEAST / size, 1].max, body: way.body.to_proc,
                      digest: ->(bytes) { bytes.sum.to_s }, warmup_items: parts, memory_items: parts, choice: !way.local?)
      end
    end
  end
end
