# frozen_string_literal: true

require_relative "../../harness/meter"

module Bench
  module RPC
    # A server in a process of its own, ended when this one ends.
    class ServerProcess
      # @yieldparam tell [#call] to be called with the port as soon as it listens
      # @yieldreturn [void] never, as a rule
      def initialize
        reader, writer = IO.pipe
        @pid = fork do
          reader.close
          yield ->(port) { writer.puts(port) && writer.close }
        ensure
          exit!(1)
        end
        writer.close
        @port = Integer(reader.gets || raise("the server did not come up"))
        owner = Process.pid
        at_exit { stop if Process.pid == owner }
      end

      # @return [Integer]
      attr_reader :port, :pid

      # @return [Float] seconds of processor time
      def cpu = Harness::Processes.cpu(@pid)

      # @return [Integer, nil] bytes, the most that was resident since {forget_peak}
      def peak = Harness::Processes.peak(@pid)

      # @return [Integer, nil] bytes
      def resident = Harness::Processes.resident(@pid)

      def forget_peak = Harness::Processes.forget_peak(@pid)

      def stop
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
      rescue SystemCallError
        nil
      end
    end
  end
end
