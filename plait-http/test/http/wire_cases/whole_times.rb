# frozen_string_literal: true

require "support/io_cases"
require_relative "deadlines"

module WireCases
  # The time for all of an exchange: a total or a deadline.
  module WholeTimes
    extend IoCases::ClassMethods

    everywhere("a peer that dribbles meets the total") do
      in_growing_times(0.5, 5) do |total|
        with_begun("HTTP/1.1 200 OK\r\nX: ", ->(peer) { peer.say("y" * 100_000, by: 1, pause: 0.005) }) do |wire|
          option = /#{Deadlines::NO_REST}.*timeout: {total: #{total}}/
          assert_late(Plait::ReadTimeout, wire, total, option) { get(wire, timeouts: Timeouts.new(total: total)) }
        end
      end
    end

    # It is always ahead, because we are slow.
    everywhere("a peer that never lets us wait meets the total") do
      no_limits = Plait.const_get(:Protocols)::HTTP1::Limits.new(body: nil)
      endless = ->(peer) { loop { peer.say("x" * 100_000) } }
      in_growing_times(0.5, 5) do |total|
        with_begun("HTTP/1.1 200 OK\r\n\r\n", endless, limits: no_limits) do |wire|
          assert_late(Plait::ReadTimeout, wire, total, Deadlines::NO_REST) do
            opened(wire, timeouts: Timeouts.new(total: total))
            slowly { wire.read_piece }
          end
        end
      end
    end

    everywhere("a peer that takes all there is meets the total") do
      with_wire(->(peer) { peer.head && loop { peer.read(65_536) } }) do |wire|
        endless = Enumerator.new { |to| slowly { to << "more" } }
        assert_late(Plait::WriteTimeout, wire, 0.3, Deadlines::NOT_TAKEN) { post(wire, endless, size: 1 << 60, timeouts: Timeouts.new(total: 0.3)) }
      end
    end

    everywhere("a deadline meets all of it") do
      in_growing_times(0.5, 5) do |seconds|
        with_begun("HTTP/1.1 200 OK\r\n") do |wire|
          assert_late(Plait::ReadTimeout, wire, seconds, Deadlines::NO_REST) { get(wire, deadline: now + seconds) }
        end
      end
    end

    everywhere("a deadline before the total") do
      in_growing_times(0.5, 5) do |seconds|
        with_pair do |wire|
          long = Timeouts.new(total: 60)
          assert_late(Plait::ReadTimeout, wire, seconds, Deadlines::NO_ANSWER) { get(wire, timeouts: long, deadline: now + seconds) }
        end
      end
    end

    everywhere("a deadline that is over") do
      with_pair do |wire, peer|
        error = assert_late(Plait::WriteTimeout, wire, 0, Deadlines::NOT_TAKEN) { get(wire, deadline: now - 1) }
        assert_equal([true, false], [error.retry_safe?, wire.sent?])
        assert_equal("", peer.read(1))
      end
    end

    private

    def slowly
      give_up = now + Deadlines::LATE
      sleep(0.001) while yield && now < give_up
    end
  end
end
