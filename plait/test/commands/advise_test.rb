# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "json"

class AdviseCommandTest < Minitest::Test
  include Support::CommandLine

  # The budgets cost their time only on a slow machine.
  def hard_timeout = 300

  def test_the_example_is_a_file_to_start_with
    result = plait("advise", "--example")
    assert_equal(0, result.code, result.err)
    write("work.rb", result.out)
    advised = plait("advise", "work.rb", "--budget", "30", "--on", "sequence,threads", "--json")
    assert_equal(0, advised.code, advised.err)
    assert_equal("threads", JSON.parse(advised.out)["on"], advised.err)
    assert_match(/\Athe body runs over and over for up to 30\.0 s, .*--once runs each item once at most$/, advised.err)
  end

  def test_a_condition_on_the_time_of_an_item
    write("work.rb", "items { (1..60).to_a }\nbody { |n| sleep(0.003); n }\n")
    slow = plait("advise", "work.rb", "--budget", "30", "--on", "threads", "--fail-if", "p99>1ms", "--quiet")
    assert_equal(1, slow.code, slow.out)
    assert_match(/^plait: p99 .*--fail-if allows 1\.0 ms$/, slow.err)
    assert_equal(2, plait("advise", "work.rb", "--fail-if", "p98<1").code)
  end

  def test_bad_input
    assert_equal(2, plait("advise").code)
    write("work.rb", "items { [1] }\nbody { |n| raise \"boom\" }\n")
    failed = plait("advise", "work.rb", "--budget", "30")
    assert_equal(1, failed.code)
    assert_match(/\Ano mechanism runs this block: RuntimeError: boom, at .*work\.rb:2$/, failed.out)
    assert_match(/--log is for a config\.ru, and work\.rb is none/, plait("advise", "work.rb", "--log", "access.log").err)
    assert_match(/--goal money: must be throughput, latency or memory/, plait("advise", "work.rb", "--goal", "money").err)
  end
end
