# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/job"
require "plait/cli/fetch/line"
require "plait/cli/fetch/result"
require "plait/cli/fetch/retries"
require "plait/cli/fetch/settlement"
require "plait/cli/fetch/tally"

class FetchRetriesTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  Retries = Fetch::Retries

  # Writes down what it is told.
  class Witness
    attr_reader :said

    def initialize = @said = []

    def respond_to_missing?(*) = true

    def method_missing(name, *arguments) = @said << [name, *arguments]
  end

  def test_what_a_server_asks_for
    now = Time.utc(2024, 1, 1, 12, 0, 0)
    { "120" => 120.0, " 7 " => 7.0, "Mon, 01 Jan 2024 12:01:30 GMT" => 90.0, "Mon, 01 Jan 2024 11:00:00 GMT" => 0.0,
      "Monday, 01-Jan-24 12:00:05 GMT" => 5.0, "soon" => nil, "-5" => nil, "1.5" => nil, "9" * 40 => nil, "" => nil }
      .each { |text, seconds| assert_equal [seconds], [Retries.asked(answer(503, text), now)], text }
    assert_equal 3.0, Retries.asked(answer(429, "3"))
    assert_nil Retries.asked(answer(200, "3"))
    assert_nil Retries.asked(Fetch::Result.failure("connect", "no"))
  end

  def test_what_is_asked_again_and_how_often
    retries = Retries.new(2)
    assert_equal([true, true, false], [1, 2, 3].map { |attempts| retries.again?(job(attempts), answer(503)) })
    [408, 429, 502, 504].each { |status| assert retries.again?(job(1), answer(status)), status }
    [200, 301, 400, 404, 500, 501].each { |status| refute retries.again?(job(1), answer(status)), status }
    assert retries.again?(job(1), Fetch::Result.failure("connect", "no", transient: true))
    refute retries.again?(job(1), Fetch::Result.failure("certificate", "no"))
    refute Retries.new(0).again?(job(1), answer(503))
  end

  def test_pauses_grow_and_differ
    spread = [1, 2, 3, 1000].map { |attempts| Array.new(100) { Retries.new(9).pause(attempts) } }
    [0.5, 1.0, 2.0, 30.0].zip(spread) { |longest, pauses| assert_empty(pauses.grep_v((longest / 2)..longest)) }
    spread.each { |pauses| assert_operator(pauses.uniq.size, :>, 50) }
  end

  def test_a_result_that_is_final
    settlement, book, schedule = settled(job(1), answer(200))
    assert_equal [[:finish], []], [names(book), names(schedule)]
    assert_equal 1, settlement.instance_variable_get(:@tally).ok
  end

  def test_another_attempt_after_what_the_server_asked_for
    _, book, schedule = settled(job(1), answer(503, "30"))
    assert_equal [[], %i[pause again]], [names(book), names(schedule)]
    schedule.said.each { |_, *, moment| assert_in_delta Plait::Deadline.now + 30, moment, 5 }
  end

  def test_the_host_is_left_alone_after_the_last_attempt_too
    _, book, schedule = settled(job(3), answer(429, "30"))
    assert_equal [[:finish], [:pause]], [names(book), names(schedule)]
  end

  def test_a_host_that_asks_for_too_long_is_given_up
    _, book, schedule = settled(job(1), answer(503, "86400"))
    assert_equal [[:finish], [:close]], [names(book), names(schedule)]
  end

  def test_what_is_refused_is_finished_all_the_same
    settlement, book, = settled(job(1), answer(200))
    settlement.refuse(job(1))
    settlement.reject(Fetch::Line.new(4, "x", nil), "no URL")
    assert_equal(%w[retry_after bad_line], book.said.last(2).map { |_, _, result| result.kind })
    assert_equal 4, book.said.last[1].line
  end

  private

  def settled(job, result)
    book, schedule = Witness.new, Witness.new
    settlement = Fetch::Settlement.new(book, Fetch::Tally.new, Retries.new(2))
    settlement.schedule = schedule
    settlement.settle(job, result)
    [settlement, book, schedule]
  end

  def names(witness) = witness.said.map(&:first)

  def job(attempts) = Fetch::Job.new(line: 1, url: "http://h/", host: "h", depth: 0, attempts: attempts)

  def answer(status, asked = nil)
    Fetch::Result.new(status: status, headers: asked ? [["Retry-After", asked]] : [], bytes: 0, body: "", seconds: 0.1)
  end
end
