# frozen_string_literal: true

require_relative "../../harness/meter"

module Bench
  module RPC
    # What client and server have used since it was started: time, processors, memory that they had not had before.
    class Stopwatch
      # @param server [ServerProcess]
      def initialize(server)
        @server = server
        GC.start
        @faults, @cpu, @wall = now
      end

      # Takes the time.
      # @return [self]
      def stop
        faults, cpu, wall = now
        @faults = faults - @faults
        @cpu = cpu - @cpu
        @wall = wall - @wall
        self
      end

      # @return [Float] seconds
      attr_reader :wall, :cpu
      # @return [Integer] page faults that needed no disk
      attr_reader :faults

      private

      def now = [faults_of("self") + faults_of(@server.pid), Harness::Meter.cpu + @server.cpu, Harness::Meter.wall]

      # See proc(5), field 10 of stat.
      def faults_of(process) = File.read("/proc/#{process}/stat")[/\) (.*)/, 1].split[7].to_i
    end
  end
end
