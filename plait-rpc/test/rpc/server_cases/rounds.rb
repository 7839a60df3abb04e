# frozen_string_literal: true

require "msgpack"
require_relative "raised"

module ServerCases
  # Requests of many connections at once, of methods that have been quick so far: one worker runs them, one after another.
  module Rounds
    TALKERS = 12

    def test_many_connections_at_once
      serve_quick
      talkers = trained_talkers
      300.times do |number|
        ask_all(talkers, number)
        talkers.each { |talker| assert_equal([1, number, nil, 2 * number], talker.hear) }
      end
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    def test_a_method_that_waits_all_of_a_sudden_holds_up_no_other_connection
      quick = serve_quick
      talkers = trained_talkers
      ask_all(talkers, 5, { 3 => ["pause", true], 4 => ["nothing"] })
      talkers.each_with_index { |talker, number| assert_equal([1, 5, nil, 10], talker.hear) unless [3, 4].include?(number) }
      assert_match(/no method/, talkers[4].hear[2])
      assert_equal([nil, 3], call(talkers[5], "add", 1, 2))
      quick.gate << "late"
      assert_equal([1, 5, nil, "late"], talkers[3].hear)
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    def test_every_kind_of_request_by_many_connections
      serve_quick
      talkers = trained_talkers
      kinds = Batches::EXPECTED.keys
      60.times do |turn|
        calls = talkers.each_index.to_h { |number| [number, kinds[(number + turn) % kinds.size].flatten(1)] }
        ask_all(talkers, turn, calls)
        talkers.each_with_index { |talker, number| assert_answer(turn, kinds[(number + turn) % kinds.size], talker.hear) }
      end
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    def test_notifications_of_many_connections_stay_in_order
      quick = serve_quick
      talkers = trained_talkers
      40.times { |turn| talkers.each_with_index { |talker, number| talker.say(2, "note", [[number, turn]]) } }
      noted = Array.new(40 * TALKERS) { quick.noted.pop }
      noted.group_by(&:first).each_value { |notes| assert_equal((0...40).to_a, notes.map(&:last)) }
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    def test_connections_that_end_amid_others
      serve_quick
      talkers = trained_talkers
      ended = talkers.shift(4)
      ended.each_with_index do |talker, number|
        talker.reset_at_close if number.odd?
        talker.request(1, "add", 1, 1)
        talker.socket.close
        ask_all(talkers, number)
        talkers.each { |other| assert_equal([1, number, nil, 2 * number], other.hear) }
      end
      @talkers -= ended
      wait_until { count(:connections) == talkers.size }
    end

    # Half a message is timed as any other.
    def test_half_a_request_amid_others
      serve_quick(message_timeout: 0.3)
      *talkers, slow = trained_talkers
      request = [0, 1, "add", [1, 2]].to_msgpack
      slow.socket.write(request + request[0, 5])
      assert_equal([1, 1, nil, 3], slow.hear)
      assert_equal([nil, 3], call(talkers.sample, "add", 1, 2)) until slow.socket.wait_readable(0)
      assert_closed(slow)
    end

    def test_wherever_an_exception_comes_no_connection_is_forgotten
      skip("methods have threads of their own only on :threads") unless mechanism == :threads && RUBY_ENGINE == "ruby"
      serve_quick
      talkers = trained_talkers.first(4)
      (1..120).each do |number|
        places = raise_at(number) do
          talkers.zip(Raised::ROW) { |talker, call| talker.request(number, *call.flatten(1)) }
          talkers.each { |talker| assert(talker.hears?(60), "a request is lost") && talker.hear }
        end
        talkers.each { |talker| assert_equal([nil, 3], call(talker, "add", 1, 2), places[number - 1]) }
      end
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    private

    def trained_talkers = [trained, *Array.new(TALKERS - 1) { connect.tap { |talker| assert_serves(talker) } }]

    # Without a wait in between, so that the server finds many of them at once.
    def ask_all(talkers, id, others = {})
      talkers.each_with_index do |talker, number|
        method, *arguments = others.fetch(number, ["add", id, id])
        talker.socket.write_nonblock([0, id, method, arguments].to_msgpack)
      end
    end

    def assert_answer(id, kind, (type, its, error, result))
      assert_equal([1, id, *Batches::EXPECTED.fetch(kind)], [type, its, error && error[/.*/], result], kind.inspect)
    end
  end
end
