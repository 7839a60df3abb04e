# frozen_string_literal: true

require "timeout"

module ServerCases
  # What another thread raises into one that runs methods, as rack-timeout does.
  module Raised
    class Foreign < Exception # rubocop:disable Lint/InheritException
    end

    def test_what_another_thread_raises_ends_its_method_at_most
      serve({ go_on: ->(number) { raise_later(Thread.current) && number }, add: ->(a, b) { a + b } })
      talker = connect
      200.times { |number| assert_answered(number, call(talker, "go_on", number)) }
      300.times { |number| talker.request(number, "go_on", number) }
      assert_equal((0...300).to_a, talker.hear_many(300).map { |answer| answer[1] }.sort)
      wait_until { Thread.list.none? { |thread| thread.name == "raiser" } }
      assert_serves(talker)
      wait_until { count(:running).zero? }
    end

    # Behind the method, in the middle of it, or of what follows.
    def raise_later(thread)
      Thread.new { 2.times { thread.raise(Foreign, "too late") || sleep(rand / 2_000) } }.name = "raiser"
    end

    def assert_answered(number, answer)
      error, result = answer
      error ? assert_match(/\AAbandonedError/, error) : assert_equal(number, result)
    end

    def test_timeouts_in_methods
      serve({ late: -> { Timeout.timeout(0.05) { sleep } } })
      talker = connect
      3.times { assert_match(/\ATimeout::Error/, call(talker, "late").first) }
    end
  end
end
