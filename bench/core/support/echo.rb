# frozen_string_literal: true

require "socket"
require_relative "../../harness/meter"
require_relative "../../harness/native_process"

module Bench
  module Core
    # Drives an echo server that lives in the contestant's process by the client in C, and reports the server's CPU
    # time.
    class Echo
      BACKLOG = 4096
      MESSAGE_LIMIT = 1_024

      # @return [TCPServer]
      attr_reader :listener

      # @param trial [Harness::Trial] with the sizes `connections` and `round_trips`
      def initialize(trial)
        @trial = trial
        @listener = TCPServer.new("127.0.0.1", 0)
        @listener.listen(BACKLOG)
      end

      # @param name [String] of a C file of this bench, without its ending
      def self.program(name, *arguments) = Harness::NativeProcess.new(File.expand_path("../#{name}.c", __dir__), *arguments)

      # What every server does with a connection. The buffer is used again: what is compared is the scheduler, not the
      # garbage collector.
      # @param connection [TCPSocket]
      def self.serve(connection)
        buffer = String.new(capacity: MESSAGE_LIMIT)
        loop { connection.write(connection.readpartial(MESSAGE_LIMIT, buffer)) }
      rescue EOFError, SystemCallError
        connection.close
      end

      # Accepts for ever.
      # @yieldparam connection [TCPSocket] to be served concurrently
      def accept = loop { yield listener.accept }

      # Runs the load and reports. Returns when the client has its last answer.
      def drive
        resident = Harness::Processes.share
        client = self.class.program("echo_client", listener.addr[1], @trial[:connections], @trial[:round_trips])
        client.line
        memory = resident && (Harness::Processes.share - resident)
        cpu = Harness::Meter.cpu
        client.go
        self.class.report(@trial, client.figures, Harness::Meter.cpu - cpu, memory)
      end

      # @param trial [Harness::Trial]
      # @param told [Hash{String => Numeric}] by the client
      # @param cpu [Float] seconds of the server
      # @param memory [Integer, nil] bytes of the server for all connections
      def self.report(trial, told, cpu, memory = nil)
        per_connection = memory && (memory / 1e3 / trial[:connections])
        trial.report(operations: told["round_trips"], wall: told["wall"], cpu: cpu,
                     result: told.slice("round_trips", "wrong"),
                     figures: { "p99_ms" => told["p99_us"] / 1e3, "kb_per_connection" => per_connection })
      end
    end
  end
end
