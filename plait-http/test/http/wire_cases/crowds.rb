# frozen_string_literal: true

require "support/io_cases"

module WireCases
  # Many wires at once: no byte of one gets into another.
  module Crowds
    extend IoCases::ClassMethods

    # Each answer is about its own question, so long that it comes in parts, framed in one of three ways.
    REPEATING = lambda do |peer|
      while (head = peer.head)
        path = head[%r{ /(\S+)}, 1]
        body = "#{path} " * (path.to_i % 7 * 3000)
        length = "HTTP/1.1 200 OK\r\nX-Path: #{path}\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}"
        chunks = body.scan(/.{1,9999}/m).map { |chunk| "#{chunk.bytesize.to_s(16)}\r\n#{chunk}\r\n" }.join
        chunked = "HTTP/1.1 200 OK\r\nX-Path: #{path}\r\nTransfer-Encoding: chunked\r\n\r\n#{chunks}0\r\n\r\n"
        peer.say(path.to_i.even? ? length : chunked, by: path.to_i % 5 == 4 ? 3001 : nil)
      end
    end

    %i[threads fibers].each do |mechanism|
      define_method("test_many_at_once_on_#{mechanism}") do
        serve(REPEATING) do |server|
          wrong = Plait.map(1..40, on: mechanism, limit: 40) { |number| ask_in_turn(server, number) }
          assert_empty(wrong.flatten)
        end
      end

      define_method("test_nothing_is_left_behind_on_#{mechanism}") do
        serve(->(peer) { peer.head&.include?("/1") ? peer.say(OK) && peer.stall : peer.stall }) do |server|
          Plait.map([1], on: mechanism) { nil }
          assert_no_leaks { Plait.map(1..20, on: mechanism, limit: 20) { |number| answer_or_timeout(server, number) } }
        end
      end
    end

    everywhere("a wire goes from one user to the next") do |mechanism|
      with_wire(REPEATING) do |wire|
        20.times do |number|
          body = mechanism.beside { wire.get("/#{number}", 0, BLOCK, PATIENT, nil).body }.call
          assert_equal(("#{number} " * (number % 7 * 3000)).hash, body.hash)
        end
      end
    end

    private

    # @return [Array<String>] answers that belong to another question
    def ask_in_turn(server, number)
      wire = wire_to(server)
      Array.new(7) do |round|
        path = ((number * 100) + round).to_s
        response = answer_of(wire, path, round)
        path unless response["x-path"] == path && response.body == "#{path} " * (path.to_i % 7 * 3000)
      end.compact
    ensure
      wire&.close
    end

    def answer_of(wire, path, round)
      return wire.get("/#{path}", 0, BLOCK, PATIENT, nil) if round.even?

      response = wire.open("GET /#{path} HTTP/1.1\r\nHost: origin\r\n\r\n", nil, 0, PATIENT, nil)
      response.body = pieces(wire).join
      response
    end

    def answer_or_timeout(server, number)
      wire = wire_to(server)
      wire.get("/#{number}", 0, BLOCK, Timeouts.new(first_byte: number.to_s.start_with?("1") ? 30 : 0.02), nil)
    rescue Plait::ReadTimeout
      nil
    ensure
      wire&.close
    end
  end
end
