# frozen_string_literal: true

require "grpc"
require_relative "client"

module Bench
  module RPC
    module Clients
      # The gem grpc, with messages that are bytes as they are: no protocol buffer is made or read.
      class GRPC < Client
        LIMITS = { "grpc.max_receive_message_length" => -1, "grpc.max_send_message_length" => -1 }.freeze
        THREADS = 64

        # What a message is made of, in both directions: grpc asks the class of a message to pack it.
        class Bytes < String
          def self.pack(bytes) = bytes

          def self.unpack(bytes) = new(bytes)
        end

        # The calls, as bytes in and bytes out.
        class Calls
          include ::GRPC::GenericService

          self.marshal_class_method = :pack
          self.unmarshal_class_method = :unpack
          self.service_name = "bench.Calls"

          %i[get put add].each { |name| rpc(name, Bytes, Bytes) }
        end

        # @param service [Service]
        def self.handler(service)
          Class.new(Calls) do
            define_method(:get) { |size, _| Bytes.new(service.get(Integer(size))) }
            define_method(:put) { |bytes, _| Bytes.new(service.put(bytes).to_s) }
            define_method(:add) { |numbers, _| Bytes.new([service.add(*numbers.unpack("NN"))].pack("N")) }
          end
        end

        def self.serve(service, tell)
          server = ::GRPC::RpcServer.new(pool_size: THREADS, server_args: LIMITS)
          tell.call(server.add_http2_port("127.0.0.1:0", :this_port_is_insecure))
          server.handle(handler(service).new)
          server.run
        end

        def self.shared? = true

        def initialize(port)
          super
          @stub = Calls.rpc_stub_class.new("127.0.0.1:#{port}", :this_channel_is_insecure, channel_args: LIMITS)
        end

        def get(size) = @stub.get(Bytes.new(size.to_s))

        def put(bytes) = Integer(@stub.put(Bytes.new(bytes)))

        def add(left, right) = @stub.add(Bytes.new([left, right].pack("NN"))).unpack1("N")

        private

        def together(calls) = calls.map { |call| Thread.new { public_send(*call) } }.map(&:value)
      end
    end
  end
end
