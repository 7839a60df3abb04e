# frozen_string_literal: true

require_relative "exit_status"

module Plait
  module CLI
    # Ctrl-C: the first one raises Interrupt, so that what was measured is still printed and saved; the second ends at
    # once.
    module Signals
      # @yield with the handler in place
      def self.handle
        previous = trap("INT", handler(Process.pid))
        yield
      ensure
        trap("INT", previous) if previous
      end

      # A forked worker inherits the handler: there it is an ordinary Interrupt every time.
      def self.handler(owner)
        pressed = 0
        proc do
          pressed += 1
          end_at_once if pressed > 1 && Process.pid == owner
          Thread.main.raise(Interrupt, "interrupted") # JRuby runs handlers on a thread of their own
        end
      end

      # No ensure block runs, so what this process started is ended here.
      def self.end_at_once
        descendants(Process.pid).each { |pid| kill(pid) }
        exit!(ExitStatus::INTERRUPTED)
      end

      def self.kill(pid)
        Process.kill(:KILL, pid)
      rescue SystemCallError
        nil # it ended by itself
      end

      # Linux lists a process's children; elsewhere they notice by their closed pipes.
      def self.descendants(pid)
        children = Dir.glob("/proc/#{pid}/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
        children.flat_map { |child| descendants(child) + [child] }
      rescue SystemCallError
        []
      end
      private_class_method :handler, :end_at_once, :kill, :descendants
    end
  end
end
