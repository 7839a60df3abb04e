# frozen_string_literal: true

require "json"
require "socket"
require_relative "../lab"

module Plait
  module CLI
    # A look at a running program by its socket, see {Lab.watch}.
    class Attachment
      CLEAR = "\e[H\e[2J"
      # Seconds for an answer.
      PATIENCE = 10
      # Threads and fibers, on average, from which a line is shown.
      LEAST = 0.005

      def initialize(terminal, path)
        @terminal = terminal
        @path = path
      end

      def print_json = @terminal.data("#{JSON.pretty_generate(ask)}\n")

      # A new screen each interval; without a terminal one.
      def show(seconds)
        snapshot = ask
        loop do
          before, snapshot = snapshot, later(snapshot, seconds)
          @terminal.say("#{CLEAR if @terminal.interactive?}#{Plait::Lab::Watch.text(since(before, snapshot))}")
          return unless @terminal.interactive?
        end
      end

      private

      # @return [Hash] a snapshot for which the program has looked again; a busy machine may keep it from that for some time
      def later(before, seconds)
        patience = Deadline.now + PATIENCE
        loop do
          sleep(seconds)
          now = ask
          return now if now[:looks] != before[:looks] || Deadline.now > patience
        end
      end

      # @return [Hash] see {Lab::Watch#snapshot}
      def ask
        text = UNIXSocket.open(@path) { |socket| socket.wait_readable(PATIENCE) && socket.read }
        JSON.parse(text, symbolize_names: true)
      rescue JSON::ParserError, TypeError
        raise UsageError, "#{@path} has no answer of Plait::Lab.watch"
      rescue SystemCallError, ArgumentError => e
        raise UsageError, "no program answers at #{@path}: #{e.is_a?(ArgumentError) ? e.message : SystemReason.of(e)}"
      end

      # The means of the time between two snapshots.
      def since(before, now)
        looks = now[:looks] - before[:looks]
        return now if looks.negative? # the program has reset it
        return { **now, seconds: now[:seconds] - before[:seconds], looks: 0, waits: {}, places: [] } if looks.zero?

        waits = between(before, now) { |snapshot| snapshot[:waits] }
        places = between(before, now) { |snapshot| snapshot[:places].to_h { |row| [row.slice(:doing, :place), row[:mean]] } }
        { **now, seconds: now[:seconds] - before[:seconds], looks: looks, waits: waits,
                 places: places.first(Plait::Lab::Watch::PLACES).map { |row, mean| { **row, mean: mean } } }
      end

      # @yieldreturn [Hash{Object => Float}] means since the program's start, of a snapshot
      # @return [Hash{Object => Float}] of the time between two, the largest first
      def between(before, now)
        earlier = yield(before)
        means = yield(now).to_h do |name, mean|
          [name, ((mean * now[:looks]) - (earlier.fetch(name, 0) * before[:looks])).fdiv(now[:looks] - before[:looks])]
        end
        means.select { |_, mean| mean > LEAST }.sort_by { |_, mean| -mean }.to_h
      end
    end
  end
end
