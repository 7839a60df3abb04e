# frozen_string_literal: true

require_relative "../values/deadline"
require_relative "progress_bar"

module Plait
  module CLI
    # Follows the sessions of an experiment and says how far it is: a bar on a terminal, else a line now and then.
    class Progress
      # @param plan [Array<Integer>] steps of each session, in their order
      # @param rounds [Integer, nil] for the words; nil: open
      # @param budget [Numeric, nil] seconds after which no further round begins
      def initialize(terminal, plan, rounds:, budget: nil)
        @plan = plan.dup
        @rounds = rounds
        @ends = Deadline.after(budget)
        @began = Deadline.now
        @session = 0
        @done = 0
        @display = terminal.interactive? ? ProgressBar.new(terminal) : ProgressLines.new(terminal)
      end

      # @return [Integer] steps over all sessions
      attr_reader :done

      # @return [Integer]
      def total = @plan.sum

      # One of the hashes of {Lab::Progress}.
      def call(event)
        @title = event[:workload].name if event[:workload]
        @plan[@session] = event[:total]
        @done = @plan.first(@session).sum + event[:done]
        @session += 1 if event[:type] == :session_finished
        show(event)
      end

      # Makes room for what the block prints.
      def aside
        @display.clear
        yield
      end

      def stop = @display.clear

      private

      def show(event)
        @display.show(done: @done, total: total, left: time_left, what: what(event),
                      fresh: event[:type] == :session_started)
      end

      def what(event)
        @what = case event[:type]
                when :session_started then "#{@title}: starting"
                when :trial_started then "#{@title}: #{event[:cell].label}, round #{[event[:round], *@rounds].join(" of ")}"
                when :memory_started then "#{@title}: #{event[:cell].label}, counting memory"
                else @what
                end
      end

      # Steps differ in length, so this is a guess that gets better; the budget bounds it.
      def time_left
        return if @done.zero?

        guess = (Deadline.now - @began) / @done * (total - @done)
        @ends ? [guess, @ends.remaining].min : guess
      end
    end
  end
end
