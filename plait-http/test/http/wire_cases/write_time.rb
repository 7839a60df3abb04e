# frozen_string_literal: true

require "support/io_cases"
require_relative "deadlines"

module WireCases
  # The time for sending, which may differ from the time for receiving.
  module WriteTime
    extend IoCases::ClassMethods

    everywhere("a request that is not taken within the time for writing") do
      with_pair do |wire|
        error = assert_late(Plait::WriteTimeout, wire, 0.1, Deadlines::NOT_TAKEN) do
          post(wire, "x" * 50_000_000, timeouts: Timeouts.new(read: 60, write: 0.1))
        end
        assert_includes(error.message, "timeout: {write: 0.1}")
      end
    end

    everywhere("the time for reading, which is another one") do
      with_wire(SAY["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"]) do |wire|
        assert_late(Plait::ReadTimeout, wire, 0.1, Deadlines::NO_REST) { get(wire, timeouts: Timeouts.new(read: 0.1, write: 60)) }
      end
    end
  end
end
