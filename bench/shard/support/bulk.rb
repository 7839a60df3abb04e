# frozen_string_literal: true

require "socket"
require_relative "nodes"

module Bench
  module Shard
    # Much at once, through one client: what the proxy's memory does meanwhile, and a second later.
    class Bulk
      REST = 1
      # Seconds for which a node sleeps, or the client does not read.
      PAUSE = 2
      VALUE = "v" * 8192
      COUNT = 10_000
      KEYS = Array.new(COUNT) { |i| i.to_s.rjust(1024, "k") }
      # So that a command is small that asks for much.
      SHORT_KEYS = Array.new(COUNT) { |i| "key:#{i}" }
      # Each server writes its part of a million keys itself: it takes the least time.
      FILL = "for i = ARGV[1], ARGV[2] do redis.call('SET', string.format('key:%08d', i), '') end return 1"
      MILLION = 1_000_000

      # @param contestant [Class] see {Contestants}
      # @param job [Symbol] of the methods below
      def initialize(contestant, job)
        @contestant = contestant
        @job = job
      end

      # @param trial [Harness::Trial]
      def report(trial)
        prepare
        @contestant.open(Nodes.ports) do |proxy|
          size, figures = TCPSocket.open("127.0.0.1", proxy.port) { |client| watch(proxy, client) }
          trial.report(operations: 1, result: size, cpu: figures.delete("cpu"), figures: figures)
        end
      ensure
        on_nodes("FLUSHALL")
      end

      private

      def watch(proxy, client)
        ask(client, ["PING"]).then { client.read("+PONG\r\n".bytesize) }
        before = proxy.memory
        proxy.forget_peak
        cpu = proxy.cpu
        size = send(@job, client)
        figures = { "cpu" => proxy.cpu - cpu, "peak_mb" => proxy.peak - before }
        sleep(REST)
        [size, figures.merge("left_mb" => proxy.memory - before)]
      end

      # What is read has to be there; written through another proxy, which has ended when memory is looked at.
      def prepare
        return fill_keys if @job == :keys
        return unless @job.to_s.start_with?("mget")

        @contestant.open(Nodes.ports) { |proxy| TCPSocket.open("127.0.0.1", proxy.port) { |client| mset(client, SHORT_KEYS) } }
      end

      def fill_keys
        Nodes.ports.each_with_index do |port, node|
          part = MILLION / Nodes.ports.size
          TCPSocket.open("127.0.0.1", port) do |server|
            ask(server, ["EVAL", FILL, "0", (part * node).to_s, ((part * (node + 1)) - 1).to_s])
            server.gets
          end
        end
      end

      def mset(client, keys = KEYS)
        ask(client, ["MSET", *keys.flat_map { |key| [key, VALUE] }])
        answer(client, "+OK\r\n".bytesize)
      end

      def mset_asleep(client)
        pid = on_nodes("INFO", "server").first[/process_id:(\d+)/, 1].to_i
        Process.kill(:STOP, pid)
        waker = Thread.new do
          sleep(PAUSE)
          Process.kill(:CONT, pid)
        end
        mset(client)
      ensure
        waker&.join
      end

      def set(client) = ask(client, ["SET", "one", "v" * (32 << 20)]).then { answer(client, "+OK\r\n".bytesize) }

      def mget(client, pause: 0)
        ask(client, ["MGET", *SHORT_KEYS])
        sleep(pause)
        answer(client, "*#{COUNT}\r\n".bytesize + (COUNT * ("$#{VALUE.size}\r\n\r\n".bytesize + VALUE.size)))
      end

      def mget_stalled(client) = mget(client, pause: PAUSE)

      def keys(client)
        ask(client, ["KEYS", "*"])
        answer(client, "*#{MILLION}\r\n".bytesize + (MILLION * "$12\r\nkey:00000000\r\n".bytesize))
      end

      # @return [Integer] bytes, as many as are expected
      def answer(client, size)
        buffer = String.new(capacity: 1 << 20)
        left = size
        left -= client.readpartial([left, 1 << 20].min, buffer).bytesize while left.positive?
        raise "refused: #{buffer[0, 100]}" if buffer.start_with?("-")

        size
      end

      def ask(socket, words)
        socket.write("*#{words.size}\r\n#{words.map { |word| "$#{word.bytesize}\r\n#{word}\r\n" }.join}")
      end

      # @return [Array<String>] the beginning of what each has answered
      def on_nodes(*words)
        Nodes.ports.map do |port|
          TCPSocket.open("127.0.0.1", port) { |server| ask(server, words).then { server.readpartial(1 << 16) } }
        end
      end
    end
  end
end
