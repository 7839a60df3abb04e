# frozen_string_literal: true

require_relative "../process_figures"

module Plait
  module CLI
    # Ctrl-C, a supervisor's SIGTERM, the SIGHUP of a terminal that is closed: the first one raises Interrupt, so that what
    # was measured is still printed and saved; the second ends at once. (Not a second SIGHUP: the kernel sends one and the
    # shell another.)
    module Signals
      NAMES = %w[INT TERM HUP].freeze
      # The exit status is 128 and the number of the signal.
      STATUS = ->(name) { 128 + Signal.list.fetch(name) }
      private_constant :STATUS

      # @yield with the handlers in place
      # @return [Object] what the block returns
      def self.handle
        @received = nil
        previous = NAMES.to_h { |name| [name, trap(name, handler(name, Process.pid))] }
        previous.each { |name, before| trap(name, before) if before == "IGNORE" } # as nohup wants it
        yield
      ensure
        previous&.each { |name, before| trap(name, before) }
      end

      # @return [Integer] the same; of an interruption the one that names the signal
      def self.status(status) = status == ExitStatus::INTERRUPTED && @received ? STATUS[@received] : status

      # A forked worker inherits the handler: there it is an ordinary exception every time.
      def self.handler(name, owner)
        proc do
          next raise_in_main(elsewhere(name)) if Process.pid != owner

          again = @received
          @received ||= name
          raise_in_main(Interrupt.new("interrupted")) unless again
          end_at_once(name) if again && name != "HUP"
        end
      end

      def self.elsewhere(name) = name == "INT" ? Interrupt.new("interrupted") : SignalException.new("SIG#{name}")

      # No ensure block runs, so the processes that this one started are ended here, children before their parents. Without
      # /proc there is no list of them: then they notice by their closed pipes.
      def self.end_at_once(name)
        ProcessFigures.descendants(Process.pid).reverse_each { |pid| kill(pid) }
        exit!(STATUS[name])
      end

      # JRuby runs handlers on a thread of their own.
      def self.raise_in_main(error) = Thread.main.raise(error)

      def self.kill(pid)
        Process.kill(:KILL, pid)
      rescue SystemCallError
        nil # it ended by itself
      end

      private_class_method :handler, :elsewhere, :raise_in_main, :end_at_once, :kill
    end
  end
end
