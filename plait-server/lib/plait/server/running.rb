# frozen_string_literal: true

module Plait
  class Server
    # Whether processes run. Their numbers come again: since when one runs tells it from a later one with the same number.
    module Running
      # Of what the system says of a process behind its name, proc(5): its state, and when it was begun.
      STATE = 0
      BEGAN = 19
      # Of those that have ended, and wait for their parents to see to it.
      ENDED = %w[Z X].freeze

      # @param pid [Integer]
      # @return [Integer, nil] when it was begun, in ticks of the machine's clock; nil when it does not run
      def self.since(pid)
        figures = File.read("/proc/#{pid}/stat")[/.*\) (.*)/m, 1].split
        Integer(figures[BEGAN]) unless ENDED.include?(figures[STATE])
      rescue SystemCallError
        nil
      end
    end
  end
end
