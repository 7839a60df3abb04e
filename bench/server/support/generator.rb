# frozen_string_literal: true

require_relative "../../harness/processors"

module Bench
  module Server
    # Runs a load generator, on the processor of the origins, for so long and no longer.
    module Generator
      # Seconds beyond those that it was told to take: on a busy machine it needs some to open its connections and to end.
      GRACE = 15

      module_function

      # @param command [Array<String>]
      # @param seconds [Numeric] that it was told to take
      # @return [String] what it has printed
      # @raise [RuntimeError] where it fails, or does not end
      def run(command, seconds)
        output, writer = IO.pipe
        descriptors = Process.getrlimit(:NOFILE).last
        pid = Process.spawn(*Harness::Processors.for_origin, *command, in: File::NULL, out: writer, err: writer,
                                                                       rlimit_nofile: descriptors)
        writer.close
        reader = Thread.new { output.read }
        check(command, wait(pid, seconds + GRACE), reader.value)
      end

      def wait(pid, seconds)
        waiter = Process.detach(pid)
        waiter.join(seconds)&.value
      ensure
        kill(pid) if waiter.alive?
      end

      def kill(pid)
        Process.kill(:KILL, pid)
      rescue Errno::ESRCH
        nil # it has just ended
      end

      # What it says last is why it failed.
      def check(command, status, output)
        name = File.basename(command.first)
        raise "#{name} did not end in time" unless status
        return output if status.success?

        raise "#{name} failed: #{output.lines.map(&:strip).reject(&:empty?).last}"
      end
      private_class_method :wait, :kill, :check
    end
  end
end
