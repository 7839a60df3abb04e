# frozen_string_literal: true

require_relative "transfer"
require_relative "../../rpc"
require "plait"
require "plait/io/endpoint"
require "plait/suites/common/companion"

module Plait
  module Suites
    class Rpc < Suite
      # The methods of the embedded server.
      class Service
        # @param blocks [Integer] that it holds
        def initialize(blocks)
          @blocks = Blocks.new(blocks)
        end

        # @return [String] so many blocks from there on
        def give(first, count) = @blocks.at(first, count)

        # @return [Integer] bytes
        def take(data) = data.bytesize

        # @return [Object] the same
        def echo(value) = value
      end

      # An RPC server on the loopback to measure clients against: in a process of its own, which dies with the one that started
      # it. It serves {Service}.
      class Peer
        # The server's own process: serves until it is ended or its parent is gone.
        # @param parent [Integer] process id
        def self.serve(on:, blocks:, parent:)
          server = nil
          Companion.serve(parent, leave: ->(*) { server&.stop(within: 0) }) do |announce|
            server = RPC::Server.new(Service.new(blocks), on: on, limits: { message: 1 << 30 })
            announce.call(server.listen("127.0.0.1", 0).port)
            server.run
          end
        end

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
          call = "Plait::Suites::Rpc::Peer.serve(on: :#{on}, blocks: #{blocks}, parent: #{Process.pid})"
          @companion = Companion.launch(__FILE__, call, gems: %w[msgpack io-event])
        end

        # Waits until it listens.
        # @raise [Companion::StartError]
        def await
          @endpoint = Io::Endpoint.tcp("127.0.0.1", @companion.await_port("the RPC server"))
          self
        end

        # Ends it and waits for its end. Does nothing the second time, nor in a fork.
        def stop = @companion.stop
      end

      # An embedded server for each mechanism that methods are run on.
      class Servers
        # @param mechanisms [Array<Symbol>]
        # @param blocks [Integer] see {Blocks}
        def initialize(mechanisms, blocks)
          @mechanisms = mechanisms
          @blocks = blocks
        end

        # Has them run meanwhile.
        def around
          @peers = @mechanisms.to_h { |on| [on, Peer.new(on: on, blocks: @blocks)] }
          @peers.each_value(&:await)
          yield
        ensure
          @peers&.each_value(&:stop)
        end

        # @return [Io::Endpoint] of the one now running
        def endpoint(on) = @peers.fetch(on).endpoint
      end
    end
  end
end
