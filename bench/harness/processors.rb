# frozen_string_literal: true

module Bench
  module Harness
    # Contestants on one processor, origins on another: neither takes the other's time, and no contestant is moved to a
    # processor that a neighbour of the machine keeps busy (a fifth slower, for minutes). Where there is one processor
    # or no `taskset`, all run where the kernel puts them.
    module Processors
      module_function

      # Pins this process, all its threads, and what it will start.
      def pin
        return if available.size < 2

        system("taskset", "-a", "-p", "-c", available.first.to_s, Process.pid.to_s, out: File::NULL, err: File::NULL)
      end

      # @param processor [Integer, nil] where it runs
      # @return [Array<String>] what is put in front of an origin's command
      def for_origin(processor = origin)
        processor && system("taskset", "--version", out: File::NULL) ? ["taskset", "-c", processor.to_s] : []
      end

      # @return [Integer, nil] the processor of the origins; nil where there is but one
      def origin = (available.last if available.size > 1)

      # Of this process, read once: pinning narrows it.
      def available = @available ||= numbers(allowed_list)

      def allowed_list
        File.foreach("/proc/self/status") { |line| return line.split.last if line.start_with?("Cpus_allowed_list:") }
        ""
      rescue SystemCallError
        ""
      end

      def numbers(list) = list.split(",").flat_map { |part| Range.new(*part.split("-").values_at(0, -1).map(&:to_i)).to_a }
    end
  end
end
