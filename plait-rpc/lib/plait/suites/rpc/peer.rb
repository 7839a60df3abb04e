# frozen_string_literal: true

require "plait/io/endpoint"
require "plait/suites/common/companion"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Rpc < Suite
      # An RPC server on the loopback to measure clients against: in a process of its own, which dies with the one that started
      # it. Its methods are those of {Service}.
      class Peer
        # Starts one, yields it, and stops it whatever happens.
        # @return [Object] what the block returns
        # @raise [Companion::StartError]
        def self.open(**options)
          peer = new(**options)
          yield peer.await
        ensure
          peer&.stop
        end

        # @return [Io::Endpoint] once it listens
        attr_reader :endpoint

        # @param on [Symbol] what the server runs its methods on
        # @param blocks [Integer] see {Blocks}
        def initialize(on: :threads, blocks: 1)
          call = "on: :#{on}, blocks: #{blocks}, parent: #{Process.pid}"
          @companion = Companion.launch(File.expand_path("peer/program.rb", __dir__),
                                        "Plait::Suites::Rpc::Peer::Program.run(#{call})", gems: %w[msgpack io-event])
        end

        # Waits until it listens.
        # @return [self]
        # @raise [Companion::StartError]
        def await
          @endpoint = Io::Endpoint.tcp("127.0.0.1", @companion.await_port("the RPC server"))
          self
        end

        # Ends it and waits for its end. Does nothing the second time, nor in a fork.
        # @return [void]
        def stop = @companion.stop
      end
    end
  end
end
