# frozen_string_literal: true

require "net/http"
require "socket"
require_relative "http/embedded_target"
require_relative "../lab"
require_relative "../parts"

module Plait
  module Suites
    # Net::HTTP as it comes with Ruby, sockets by hand and the clients of other gems, on every mechanism, against an origin
    # that takes its time to answer. A client is a file plait/suites/http/ways/NAME.rb that calls {register}.
    class Http < Suite
      # A workload with the counts of its target among its notes.
      class CountedWorkload < Lab::Workload
        # @param target [EmbeddedTarget, SiteTarget] runs around the cells
        def initialize(target, **options)
          super(around: ->(&block) { target.around(&block) }, **options)
          @target = target
        end

        def notes = super + @target.notes
      end

      # The answer that a row got, by any client: the part of Net::HTTP's response that is checked.
      # @!attribute code
      #   @return [String] "200"
      # @!attribute body
      #   @return [String]
      # @!attribute message
      #   @return [String] the reason
      Answer = Struct.new(:code, :body, :message) do
        # @return [nil] the client that makes one has checked that the body is whole
        def content_length = nil
      end

      # A body: one request by a client. A subclass has `ask`, which gives the answer to the request of this number.
      class Body
        # @param row [#uri, #path, #verify] what to ask, and whether the answer is right
        def initialize(row)
          @row = row
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          @row.verify(id, ask(id))
          id
        end

        def to_proc = method(:call).to_proc
      end

      # A connection that is kept. A request takes an idle one or opens one, so there are as many as requests in flight.
      class KeepAlive < Body
        def initialize(row)
          super
          @idle = []
          @generation = Native.fork_generation
          @lock = Mutex.new
        end

        private

        def ask(id)
          http = take || connect(@row.uri(id))
          request(http, @row.path(id)).tap { give_back(http) }
        end

        # A connection that was opened before a fork is the parent's.
        def take
          @lock.synchronize do
            @idle.clear.then { @generation = Native.fork_generation } unless @generation == Native.fork_generation
            @idle.pop
          end
        end

        def give_back(http) = @lock.synchronize { @idle.push(http) }

        def connect(uri) = Net::HTTP.start(uri.hostname, uri.port, use_ssl: uri.is_a?(URI::HTTPS))

        # A connection is not used again after an error or a wait that was given up.
        def request(http, path)
          response = http.request_get(path)
        ensure
          http.finish unless response
        end
      end

      # A connection of its own.
      class OneShot < Body
        private

        def ask(id) = Net::HTTP.get_response(@row.uri(id))
      end

      # By hand, on a socket of its own, as programs have it where Net::HTTP is too slow. It reads answers with a Content-Length
      # only.
      class RawSocket < Body
        BIG = 65_536
        # A server that never ends its head would fill the memory.
        LONGEST_HEAD = 65_536
        HEAD_END = "\r\n\r\n"

        # @param piece [Integer] bytes asked of the socket at once: one shows what a system call a byte costs
        def initialize(row, piece: BIG)
          super(row)
          @piece = piece
        end

        private

        def ask(id)
          uri = @row.uri(id)
          TCPSocket.open(uri.hostname, uri.port) { |socket| exchange(socket, uri, id, "close") }
        end

        def exchange(socket, uri, id, connection)
          socket.write("GET #{@row.path(id)} HTTP/1.1\r\nHost: #{uri.hostname}:#{uri.port}\r\nConnection: #{connection}\r\n\r\n")
          receive(socket)
        end

        def receive(socket)
          bytes = +"".b
          more(socket, bytes) until (finish = bytes.index(HEAD_END)) || bytes.bytesize > LONGEST_HEAD
          raise IOError, "no end of the head within #{LONGEST_HEAD} bytes" unless finish

          body = finish + HEAD_END.bytesize
          length = bytes[/^content-length: *(\d+)/i, 1].to_i
          more(socket, bytes) until bytes.bytesize >= body + length
          Answer.new(bytes[9, 3], bytes.byteslice(body, length), bytes[/\A\S+ \d+ ([^\r]*)/, 1])
        end

        def more(socket, bytes) = bytes << socket.readpartial(@piece)
      end

      # As {RawSocket}, on sockets that are kept.
      class KeptSocket < RawSocket
        def initialize(row)
          super
          @idle = []
        end

        private

        def ask(id)
          uri = @row.uri(id)
          socket = @idle.pop || TCPSocket.new(uri.hostname, uri.port)
          answer = exchange(socket, uri, id, "keep-alive")
          @idle.push(socket)
          answer
        ensure
          socket&.close unless answer
        end
      end

      PLACE = 20
      NAME = "http"
      TITLE = "HTTP"
      SUMMARY = "50 requests by each HTTP client that is installed, answered after 50 ms"
      DESCRIPTION = "Each HTTP client that is installed, on new and on kept connections"
      # One row in sequence says what the others are compared with.
      BRIEF = { sequences: 1 }.freeze
      # Seconds for 18 rows of up to 2.6 s.
      BUDGET = 180.0
      OPTIONS = { requests: "how many requests (default: 50)", url: "ask this site instead of the built-in server",
                  latency: "how long the server takes to answer (default: 0.05), a table for each" }.freeze
      EXAMPLES = { "plait lab http --requests 500 --limit 10,100" => "more requests, two limits" }.freeze

      # Processes: with more, the figures show how the machine schedules them.
      MOST_PROCESSES = 16
      COMPOSED = %i[processes fibers].freeze
      COMPOSED_PROCESSES = 2
      MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, COMPOSED].freeze
      # Requests of a memory pass: the allocations of each hardly change with their number.
      MEMORY_REQUESTS = 20
      # Each limit for these; the others at the largest one only.
      EACH_LIMIT = %i[threads fibers].freeze

      # One way to ask: its name, where it makes sense, and what makes a body of it.
      Way = Struct.new(:name, :mechanisms, :each_limit, :by_hand, :body, keyword_init: true) do
        # @return [String] of a row
        def label(mechanism, limit)
          return name || "plain" if mechanism == :sequence

          "#{Array(mechanism).join(" × ")}#{" + #{name}" if name} (limit #{Array(limit).join(" × ")})"
        end
      end

      WAYS = [
        Way.new(mechanisms: %i[sequence threads fibers processes], each_limit: true, body: ->(row, _) { OneShot.new(row) }),
        Way.new(name: "keep-alive", mechanisms: MECHANISMS, each_limit: true, body: ->(row, _) { KeepAlive.new(row) }),
        Way.new(name: "sockets, one byte a read", mechanisms: [:fibers], by_hand: true,
                body: ->(row, _) { RawSocket.new(row, piece: 1) }),
        Way.new(name: "sockets", mechanisms: [:fibers], by_hand: true, body: ->(row, _) { RawSocket.new(row) }),
        Way.new(name: "kept sockets", mechanisms: [:fibers], by_hand: true, body: ->(row, _) { KeptSocket.new(row) })
      ] # rubocop:disable Style/MutableConstant -- other gems add theirs
      OTHERS = Parts.new("suites/http/ways")

      # Adds rows.
      # @param name [String] of the client
      # @yieldparam row [#uri, #path, #verify] what to ask, and whether the answer is right
      # @yieldparam limit [Integer] requests in flight at once
      # @yieldreturn [#to_proc] a body
      def self.register(name, &body) = WAYS << Way.new(name: name, mechanisms: MECHANISMS, body: body)

      private

      # @param latency [Numeric, Array<Numeric>] seconds; a table for each
      def build(requests: 50, latency: 0.05, size: 612, url: nil, limits: nil, on: nil, sequences: nil, **)
        check_whole("requests", requests)
        latencies = Array(latency)
        check("latency", latency, "a number of seconds from 0 up, or several") { latencies.any? }
        latencies.each { |one| check_seconds("latency", one) }
        check("size", size, "a whole number of bytes from 0 up") { |value| value.is_a?(Integer) && !value.negative? }
        limits&.each { |limit| check_whole("limit", limit) }
        targets = targets(url, latencies, size)
        targets.map do |target|
          rows = rows(limits || target.limits(requests))
          rows -= rows.select { |_, mechanism,| mechanism == :sequence }.drop(sequences) if sequences
          workload(name_for(target, targets), target, requests, rows, on)
        end
      end

      def name_for(target, targets) = targets.one? ? NAME : format("%s-%gms", NAME, target.latency * 1_000)

      def targets(url, latencies, size)
        url ? [SiteTarget.new(url)] : latencies.map { |latency| EmbeddedTarget.new(latency: latency, size: size) }
      end

      def workload(name, target, requests, rows, on)
        items = Array.new(requests) { |id| id }.freeze
        long = !target.patient?(requests) && !on&.include?(:sequence)
        rows.reject! { |way,| way.by_hand } unless target.embedded?
        rows.reject! { |_, mechanism,| mechanism == :sequence } if long
        cells = rows.map { |row| cell(target, items, *row) }
        CountedWorkload.new(target, name: name, title: target.title(requests), description: DESCRIPTION, unit: "requests",
                                    work: target.work, cells: only(cells, on), notes: notes(target, requests, long))
      end

      def notes(target, requests, long)
        broken = OTHERS.broken.map { |name, error| "The rows of #{name} are left out: #{error.message.lines.first.to_s.chomp}" }
        [*(target.too_long(requests) if long), *broken]
      end

      # @return [Array<Array(Way, Symbol, Integer)>] how to ask, mechanism and limit
      def rows(limits)
        OTHERS.load
        WAYS.flat_map do |way|
          way.mechanisms.flat_map do |mechanism|
            limits_of(mechanism, way.each_limit ? limits : [limits.max]).map { |limit| [way, mechanism, limit] }
          end
        end
      end

      def limits_of(mechanism, limits)
        case mechanism
        when :sequence then [1]
        when *EACH_LIMIT then limits
        when :hybrid then [limits.max]
        when :processes then [[limits.max, MOST_PROCESSES].min]
        else [[COMPOSED_PROCESSES, (limits.max.to_f / COMPOSED_PROCESSES).ceil]]
        end
      end

      def cell(target, items, way, mechanism, limit)
        label = way.label(mechanism, limit)
        body = way.body.call(target.row(label), at_once(limit))
        Lab::Cell.new(label: label, on: mechanism, limit: limit, items: items, body: body.to_proc,
                      warmup_items: warmup_items(items, limit), memory_items: items.first(MEMORY_REQUESTS), choice: !way.by_hand)
      end

      def at_once(limit) = Array(limit).reduce(:*)

      # Enough to open each connection that is kept, all within one round trip.
      def warmup_items(items, limit) = items.first(limit == 1 ? 2 : at_once(limit))
    end
  end
end
