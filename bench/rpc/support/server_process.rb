# frozen_string_literal: true

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
      def cpu = Process.clock_gettime(clock)

      # @return [Integer, nil] bytes, the most that was resident so far
      def peak = kilobytes("VmHWM")

      # @return [Integer, nil] bytes
      def resident = kilobytes("VmRSS")

      # What was resident before is no longer in {peak}.
      def reset_peak
        File.write("/proc/#{@pid}/clear_refs", "5")
      rescue SystemCallError
        nil
      end

      def stop
        Process.kill(:KILL, @pid)
        Process.wait(@pid)
      rescue SystemCallError
        nil
      end

      private

      # The kernel's own number for the CPU clock of another process (clock_getcpuclockid(3)).
      def clock = (~@pid << 3) | 2

      def kilobytes(field)
        File.foreach("/proc/#{@pid}/status") { |line| return line[/\d+/].to_i * 1024 if line.start_with?("#{field}:") }
      rescue SystemCallError
        nil
      end
    end
  end
end
