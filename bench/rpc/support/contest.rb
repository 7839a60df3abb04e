# frozen_string_literal: true

require_relative "../../harness/definition"
require_relative "server_process"
require_relative "service"

module Bench
  module RPC
    # What the cases of this bench have in common: who takes part, and what each of them does.
    class Contest
      FLOOR = "C"
      RAW = "sockets"
      OLD = "msgpack-rpc"
      GRPC = "grpc"

      # File, class, gems; sockets first, since they are what all others are made of.
      PEERS = {
        RAW => ["sockets", :Sockets, []], "msgpack over sockets" => ["msgpack_sockets", :MsgpackSockets, %w[msgpack]],
        OLD => ["msgpack_rpc", :MsgpackRPC, %w[msgpack-rpc]], "DRb" => ["drb", :DRb, []], GRPC => ["grpc", :GRPC, %w[grpc]]
      }.freeze
      OURS = { "plait" => :Plait, "plait, on fibers" => :PlaitFibers }.freeze

      # Of client and server together.
      CPU = Harness::Metric.cpu("call")
      CPU_OF_DATA = Harness::Metric.figure("cpu_us_per_mb", unit: "us")
      RATE = Harness::Metric.figure("mb_per_s", unit: "MB/s", lower_is_better: false)
      FAULTS = Harness::Metric.figure("page_faults_per_mb", unit: "faults")
      OF_DATA = [RATE, CPU_OF_DATA, FAULTS].freeze
      CALLS = Harness::Metric.figure("calls_per_s", unit: "calls/s", lower_is_better: false)
      LATE = Harness::Metric.figure("p99_us", unit: "us")
      STALLS = Harness::Metric.figure("stalls_over_38_ms", unit: "calls")

      # @param bench [Harness::Definition]
      # @param peers [Array<String>]
      # @param ours [Hash{String => Symbol}] names of rows, and classes in clients/plait.rb
      # @param holds [Array<Integer>] see {Service#initialize}
      # @yieldparam trial [Harness::Trial]
      # @yieldparam type [Class<Clients::Client>]
      # @yieldparam server [ServerProcess]
      def self.enter(bench, peers: PEERS.keys, ours: OURS, holds: [], &deed)
        ours.each { |name, type| bench.plait(name, gems: %w[msgpack]) { |trial| new(trial, "plait", type).call(*holds, &deed) } }
        peers.each do |name|
          file, type, gems = PEERS.fetch(name)
          bench.peer(name, gems: gems) { |trial| new(trial, file, type).call(*holds, &deed) }
        end
      end

      # @param bench [Harness::Definition]
      # @param what [String] see {Floor.report}
      # @param bytes [Symbol, nil] the size of that name
      # @param options [Hash] see {Floor.report}
      def self.floor(bench, what, bytes: nil, **options)
        bench.floor(FLOOR) do |trial|
          require_relative "floor"
          Floor.report(trial, what, bytes: bytes ? trial[bytes] : 0, **options)
        end
      end

      # @param trial [Harness::Trial]
      # @param file [String] in clients/
      # @param name [Symbol] of its class
      def initialize(trial, file, name)
        @trial = trial
        @file = file
        @name = name
      end

      # @param holds [Array<Integer>]
      def call(*holds)
        server = ServerProcess.new { |tell| type.serve(Service.new(*holds), tell) }
        type.surround { yield(@trial, type, server) }
      ensure
        server&.stop
      end

      private

      # Loaded by each of the two processes: grpc's threads don't outlive a fork.
      def type
        require_relative "../clients/#{@file}"
        Clients.const_get(@name)
      end
    end
  end
end
