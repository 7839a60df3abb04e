# frozen_string_literal: true

require "tmpdir"
require "plait/suites/common/companion"
require "plait/suites/common/own_server"
require "plait/suites/common/programs"
require_relative "../../shard"

module Plait
  module Suites
    # redis-servers without persistence, for a suite or a demonstration.
    module RedisServers
      PROGRAMS = %w[redis-server valkey-server].freeze
      ADVICE = "no redis-server was found: sudo apt-get install redis-server (macOS: brew install redis)"

      class << self
        # @return [String, nil] its path
        def program = Programs.find(*PROGRAMS)

        # @param place [Array<String>] words in front of the command, such as taskset
        # @yieldparam addresses [Array<String>] "HOST:PORT"
        # @return [Object] the block's value
        # @raise [UnsupportedError] without redis-server, or when it does not start
        def open(count, place: [])
          path = program or raise UnsupportedError, ADVICE
          Dir.mktmpdir("plait-redis-") do |folder|
            servers = []
            count.times { servers << OwnServer.new(folder).tap { |server| start(server, [*place, path]) } }
            yield servers.map(&:address)
          ensure
            servers.each(&:stop)
          end
        end

        private

        def start(server, command)
          server.start(*command, "--port", server.port.to_s, "--bind", OwnServer::HOST, "--save", "", "--appendonly", "no") do
            server.listening?
          end
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
