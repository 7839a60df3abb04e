# frozen_string_literal: true

module Bench
  module Core
    # Pairs that send one byte to and fro through two pipes: each read waits, so each is a switch.
    module PingPong
      module_function

      # @return [Integer] round trips a pair makes
      def round_trips(pairs, switches) = switches / pairs / 2

      # @return [Array<Proc>] two a pair; the caller's value is the round trips it made, the echoer's is 0
      def bodies(pairs, switches)
        trips = round_trips(pairs, switches)
        Array.new(pairs) { [IO.pipe, IO.pipe] }.flat_map do |there, back|
          [caller_of(trips, there.last, back.first), echoer_of(trips, there.first, back.last)]
        end
      end

      def caller_of(trips, output, input)
        proc do
          trips.times do
            output.write("x")
            input.readpartial(1)
          end
        end
      end

      def echoer_of(trips, input, output)
        proc do
          trips.times { output.write(input.readpartial(1)) }
          0
        end
      end
    end
  end
end
