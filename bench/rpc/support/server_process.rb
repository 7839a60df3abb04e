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
      def cpu = Harness::Meter.cpu_of(@pid)

      # @return [Integer, nil] bytes, the most that was resident since {reset_peak}
      def peak = Harness::Meter.peak(@pid)

      # @return [Integer, nil] bytes
      def resident = Harness::Meter.resident_unshared(@pid)

      def reset_peak = Harness::Meter.reset_peak(@pid)

      def stop
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
      rescue SystemCallError
        nil
      end
    end
  end
end
