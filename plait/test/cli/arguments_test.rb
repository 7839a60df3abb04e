# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/arguments"

class ArgumentsTest < Minitest::Test
  Arguments = Plait::CLI::Arguments
  KNOWN = %i[sequence threads fibers processes].freeze

  def test_values
    assert_equal 12, Arguments.count("--rounds", " 12 ")
    assert_equal 1_000, Arguments.count("--requests", "1_000")
    assert_equal(-5, Arguments.integer("--seed", "-5"))
    assert_in_delta 0.25, Arguments.positive("--scale", "0.25")
    assert_in_delta 0.25, Arguments.positive("--scale", " .25 ")
    assert_in_delta 1e-3, Arguments.positive("--scale", "1E-3")
    assert_equal 0.0, Arguments.seconds("--latency", "0")
    assert_equal [1, 8, 64], Arguments.limits("--limit", "1, 8,64,8")
  end

  def test_mechanisms
    assert_equal [:threads, %i[processes fibers]],
                 Arguments.mechanisms("--on", "threads,processes+fibers,threads", KNOWN)
    assert_equal [:fibers], Arguments.mechanisms("--on", ":fibers,", KNOWN)
  end

  def test_sentences_that_name_the_option
    { "--rounds 0: must be 1 or more" => -> { Arguments.count("--rounds", "0") },
      "--rounds 10000001: must be 10000000 at most" => -> { Arguments.count("--rounds", "10000001") },
      "--limit -3: must be 1 or more" => -> { Arguments.limits("--limit", "8,-3") },
      "--limit 1.5: not a whole number" => -> { Arguments.limits("--limit", "1.5") },
      "--limit 010x: not a whole number" => -> { Arguments.limits("--limit", "010x") },
      "--scale 0: must be more than 0" => -> { Arguments.positive("--scale", "0") },
      "--scale big: not a number" => -> { Arguments.positive("--scale", "big") },
      "--scale 1e999: not a number" => -> { Arguments.positive("--scale", "1e999") },
      "--latency -1: can't be negative" => -> { Arguments.seconds("--latency", "-1") },
      "--limit needs a value" => -> { Arguments.limits("--limit", " , ") },
      "--on needs a value" => -> { Arguments.mechanisms("--on", "", KNOWN) } }
      .each { |sentence, call| assert_equal sentence, assert_raises(Plait::UsageError, &call).message }
  end

  def test_a_leading_zero_is_no_octal_number
    assert_equal 10, Arguments.count("--rounds", "010")
  end

  def test_unknown_mechanisms
    known = KNOWN.join(", ")
    error = assert_raises(Plait::UnknownMechanism) { Arguments.mechanisms("--on", "thread", KNOWN) }
    assert_equal "--on: unknown mechanism \"thread\"; did you mean \"threads\"? The mechanisms are #{known}.",
                 error.message
    error = assert_raises(Plait::UnknownMechanism) { Arguments.mechanisms("--on", "threads+quantum", KNOWN) }
    assert_equal "--on: unknown mechanism \"quantum\". The mechanisms are #{known}.", error.message
    error = assert_raises(Plait::UsageError) { Arguments.mechanisms("--on", "sidekiq", KNOWN) }
    assert_match(/sidekiq runs jobs, .* plait compare FILE.rb --on sequence,sidekiq, with body/, error.message)
    assert_equal [:sidekiq], Arguments.mechanisms("--on", "sidekiq", [*KNOWN, :sidekiq])
  end

  def test_at_most_two_compose
    error = assert_raises(Plait::UsageError) { Arguments.mechanisms("--on", "processes+threads+fibers", KNOWN) }
    assert_match(/at most two/, error.message)
  end
end
