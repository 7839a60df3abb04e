# frozen_string_literal: true

require "socket"
require_relative "../../protocols/resp"
require "plait/io/stream"
require "plait/lab"
require "plait/process_figures"
require "plait/suites/common/companion"

module Plait
  module Suites
    class Shard < Suite
      # Runs the trials of a cell: one client, whose commands go one way, while the process on that way is watched.
      class Trial
        # After the last answer, until memory is looked at again.
        REST = 1.0

        # @param task [#exchanges]
        # @param addresses [Proc]
        def initialize(way, task, addresses)
          @way = way
          @task = task
          @addresses = addresses
        end

        # @param bound [Numeric] seconds
        # @return [Lab::Measurement]
        def call(cell, bound: Lab::Session::BOUND, **)
          @way.open(@addresses.call) do |port, pid|
            Conversation.open(port, bound) { |client| measure(cell, client, pid) }
          end
        rescue TimeoutError
          Lab::Measurement.failed(cell.label, "it was not done after #{bound.round(2)} s (bound: how long it may take)", :hung)
        rescue Error, SystemCallError, IOError => e
          Lab::Measurement.failed(cell.label, e.message)
        end

        private

        def measure(cell, client, pid)
          client.call("ECHO", "warm") # the connection is there before memory is looked at
          before = held(pid)
          ProcessFigures.forget_peak(pid)
          cpu = ProcessFigures.cpu(pid)
          times = @task.exchanges.map { |exchange| client.time(exchange) }
          figures = { cpu: ProcessFigures.cpu(pid) - cpu, peak: [ProcessFigures.peak(pid) - before, 0].max }
          sleep(REST)
          own = { "before_bytes" => before, "after_bytes" => held(pid) - before }
          Lab::Measurement.new(label: cell.label, engine: RUBY_ENGINE, items: times.size, wall: times.sum, latencies: times.sort,
                               peak_source: :resident, errors: 0, own: own, results: results, **figures)
        end

        def held(pid) = ProcessFigures.resident(pid) || raise(Error, "the process that is measured has ended")

        # Each answer was looked at when it came.
        def results
          bytes = @task.exchanges.sum(&:bytes)
          Lab::ResultDigest.new([Outcome.new(index: 0, item: nil, value: bytes)])
        end
      end

      # A way of commands to the nodes: through a proxy with these options, or straight to a server.
      # @!attribute options
      #   @return [Hash, nil] of the proxy; nil: none
      # @!attribute nodes
      #   @return [Range] the servers to use
      Way = Struct.new(:name, :options, :nodes) do
        # @param addresses [Array<String>] of all servers
        # @yieldparam port [Integer] to connect to
        # @yieldparam pid [Integer] of the process that is measured
        def open(addresses, &block)
          servers = addresses[nodes]
          options ? through_proxy(servers, &block) : directly(servers.first, &block)
        end

        private

        def through_proxy(servers)
          call = { nodes: servers, parent: Process.pid, **options }.inspect
          proxy = Companion.launch(File.join(__dir__, "redis_servers.rb"), "Plait::Suites::ProxyProgram.run(**#{call})", gems: [])
          yield proxy.await_port("the proxy"), proxy.pid
        ensure
          proxy&.stop
        end

        def directly(address)
          port = Integer(address[/\d+\z/])
          yield port, Conversation.open(port) { |server| server.call("INFO", "server")[/^process_id:(\d+)/, 1].to_i }
        end
      end

      # A connection of a client that knows how long each answer will be, so that it costs next to nothing to read it.
      class Conversation
        # An answer that is not the expected one.
        class WrongAnswer < Error; end

        # @param seconds [Numeric] for all of it
        # @return [Object] what the block returns
        def self.open(port, seconds = 60)
          conversation = new(port, Deadline.after(seconds))
          yield conversation
        ensure
          conversation&.close
        end

        def initialize(port, deadline)
          socket = TCPSocket.new("127.0.0.1", port)
          socket.setsockopt(:TCP, :NODELAY, 1)
          @stream = Io::Stream.new(socket)
          @deadline = deadline
        end

        # @return [Float] seconds from the first byte sent to the last one received
        # @raise [WrongAnswer]
        # @raise [TimeoutError, ConnectionClosed]
        def time(exchange)
          began = Deadline.now
          @stream.write(exchange.request, deadline: @deadline)
          refuse_error
          reply = @stream.read_exactly(exchange.size, deadline: @deadline)
          seconds = Deadline.now - began
          return seconds if exchange.right?(reply)

          raise WrongAnswer, "#{reply.bytesize} bytes were answered that are wrong, from #{reply.byteslice(0, 60).inspect} on"
        end

        # @return [String] the answer, of a command that is answered by one text
        def call(*words)
          @stream.write(Protocols::RESP.encode(words), deadline: @deadline)
          @stream.fill(deadline: @deadline) until (size = @stream.buffer[/\A\$(\d+)\r\n/, 1])
          head = "$#{size}\r\n".bytesize
          @stream.read_exactly(head + Integer(size) + 2, deadline: @deadline)[head..]
        end

        def close = @stream.close

        private

        # It is shorter than what is waited for.
        def refuse_error
          @stream.fill(deadline: @deadline) if @stream.buffer.empty?
          raise WrongAnswer, @stream.buffer[/\A[^\r\n]*/] if @stream.buffer.start_with?("-")
        end
      end

      # A command as it is sent, and what is known of its answer beforehand.
      Exchange = Struct.new(:request, :size, :right, keyword_init: true) do
        # @return [Exchange] of a command whose answer is that it was done
        def self.done(*words) = exact("+OK\r\n", *words)

        # @param reply [String] the only right one
        def self.exact(reply, *words)
          new(request: Protocols::RESP.encode(words), size: reply.bytesize, right: ->(bytes) { bytes == reply })
        end

        # @param bytes [String] the answer
        def right?(bytes) = right.call(bytes)

        # @return [Integer] bytes that it moves
        def bytes = request.bytesize + size
      end

      # The work of a row: a name, which stands over its table, and a list of exchanges.
      module Tasks
        # SET and GET of values of one size, over some keys.
        class Values
          KEYS = 4
          # Bytes that a row moves, and its commands at most.
          BYTES = 128 << 20
          COMMANDS = 8_000
          UNITS = { (1 << 20) => "MiB", (1 << 10) => "KiB", 1 => "B" }.freeze

          # @param bytes [Integer] of a value
          # @param scale [Numeric] share of the full number of commands
          def initialize(bytes, scale)
            @bytes = bytes
            @rounds = ([COMMANDS, BYTES / bytes].min * scale / (KEYS * 2)).ceil
          end

          def name
            size, unit = UNITS.find { |least, _| @bytes >= least }
            "SET and GET of #{@bytes / size} #{unit}"
          end

          # @return [Array<Exchange>]
          def exchanges
            @exchanges ||= Array.new(KEYS) do |number|
              key = "value:#{number}"
              value = ((number + 97).chr * @bytes).b
              [Exchange.done("SET", key, value), Exchange.exact("$#{value.bytesize}\r\n".b << value << "\r\n", "GET", key)]
            end.flatten * @rounds
          end
        end

        # KEYS over keys that are there.
        class Keys
          # Lua, since nothing else writes a million of them in a second.
          FILL = "for i = ARGV[1], ARGV[2] do redis.call('SET', string.format('key:%08d', i), '') end return 1"
          # A script that takes too long would be complained of.
          PORTION = 50_000
          NAME = /key:\d{8}/

          def initialize(count)
            @count = count
          end

          # @return [Array<Exchange>]
          def exchanges
            size = "*#{@count}\r\n".bytesize + (@count * "$12\r\nkey:00000000\r\n".bytesize)
            all = ->(bytes) { bytes.scan(NAME).uniq.size == @count }
            [Exchange.new(request: Protocols::RESP.encode(%w[KEYS *]), size: size, right: all)]
          end

          # @param nodes [Integer] between which they are to be divided
          # @return [Array<Array<Exchange>>] for each node, what writes its part
          def fill(nodes)
            (1..@count).each_slice(@count.fdiv(nodes).ceil).map do |part|
              part.each_slice(PORTION).map { |some| Exchange.exact(":1\r\n", "EVAL", FILL, "0", some.first.to_s, some.last.to_s) }
            end
          end
        end

        # One MSET of many long keys with long values.
        class Mset
          KEY = 1024
          VALUE = 8192

          # @param count [Integer] of keys
          def initialize(count)
            @count = count
          end

          # @return [Array<Exchange>]
          def exchanges
            @exchanges ||= [Exchange.done("MSET", *Array.new(@count) { |i| [i.to_s.rjust(KEY, "k"), "v" * VALUE] }.flatten)]
          end
        end
      end
    end
  end
end
