# frozen_string_literal: true

require "socket"
require "tmpdir"
require "plait/suites/common/companion"
require "plait/suites/common/programs"
require "plait/values/deadline"
require "plait/values/errors"
require_relative "../../shard"

module Plait
  module Suites
    # redis-servers of our own, on free ports of the loopback, without persistence, their files in a temporary folder. They end
    # with us, even where we are killed.
    class RedisServers
      PROGRAMS = %w[redis-server valkey-server].freeze
      ADVICE = "no redis-server was found: sudo apt-get install redis-server (macOS: brew install redis)"
      SECONDS = 10
      # Waits for the end of its standard input, which is ours: what is left of us when we are killed.
      KEEPER = '"$@" & pid=$!; read line; kill $pid; wait $pid'
      private_constant :PROGRAMS, :SECONDS, :KEEPER

      class << self
        # @return [String, nil] its path
        def program = Programs.find(*PROGRAMS)

        # @param place [Array<String>] words in front of the command, such as taskset
        # @yieldparam addresses [Array<String>] "HOST:PORT"
        # @return [Object] what the block returns
        # @raise [UnsupportedError] without redis-server, or when it does not start
        def open(count, place: [])
          Dir.mktmpdir("plait-redis-") do |folder|
            servers = new(folder, place)
            yield(Array.new(count) { servers.start })
          ensure
            servers&.stop
          end
        end
      end

      # @raise [UnsupportedError] without redis-server
      def initialize(folder, place)
        @folder = folder
        @place = place
        @program = RedisServers.program or raise UnsupportedError, ADVICE
        @keepers = []
      end

      # @return [String] "HOST:PORT"
      # @raise [UnsupportedError] when it does not start
      def start
        port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
        @keepers << IO.popen([*@place, "sh", "-c", KEEPER, "sh", *command(port), { pgroup: true, err: File::NULL }], "r+")
        return "127.0.0.1:#{port}" if listening?(port)

        raise UnsupportedError, "#{@program} does not answer on port #{port}: #{log(port)}"
      end

      # Waits for their end.
      def stop = @keepers.each(&:close)

      private

      def command(port)
        [@program, "--port", port.to_s, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", @folder,
         "--logfile", log_path(port)]
      end

      def log_path(port) = File.join(@folder, "#{port}.log")

      def log(port) = File.exist?(log_path(port)) ? File.readlines(log_path(port)).last(3).join(" ").strip : "it says nothing"

      def listening?(port)
        deadline = Deadline.after(SECONDS)
        begin
          TCPSocket.new("127.0.0.1", port).close
          true
        rescue SystemCallError
          return false if deadline.expired?

          sleep(0.01)
          retry
        end
      end
    end

    # The proxy's own process, which loads no more than it needs: its memory is measured.
    module ProxyProgram
      # @param parent [Integer] process id
      # @param options [Hash] as for {Plait::Shard::Proxy#initialize}
      def self.run(parent:, **options)
        Companion.serve(parent) do |announce|
          Plait::Shard::Proxy.open(listen: "127.0.0.1:0", **options) do |proxy|
            announce.call(proxy.port)
            sleep
          end
        end
      end
    end
  end
end
