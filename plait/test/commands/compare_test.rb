# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "json"

class CompareCommandTest < Minitest::Test
  include Support::CommandLine

  def test_the_users_own_work
    write("work.rb", "title \"doubling\"\nunit \"numbers\"\nitems { (1..4).to_a }\nbody { |number| number * 2 }\n")
    result = plait("compare", "work.rb", "--on", "sequence,threads,processes+threads", "--limit", "1,2", "--rounds",
                   "1")
    assert_equal 0, result.code, result.err
    assert_match(/^doubling$/, result.out)
    assert_match(%r{ numbers/s }, result.out)
    ["sequence", "threads (limit 1)", "threads (limit 2)", "processes × threads (limit 2)"].each do |label|
      assert_match(/^  #{Regexp.escape(label)} /, result.out)
    end
    assert_empty Dir.children(folder) - ["work.rb"]
  end

  def test_differing_results_are_said_first
    write("work.rb", "items { [1, 2] }\nbody { |number| [number, Thread.current == Thread.main] }\n")
    result = plait("compare", "work.rb", "--on", "sequence,threads", "--rounds", "1", "--json", "differ.json")
    assert_equal 1, result.code, result.err
    assert_match(/\A[^\n]+\n\n.*no: the results differ\n\nThe results differ:\n  threads.* gave other results than sequence/m,
                 result.out)
    refute_match(/fastest/, result.out)
    assert_match(/^plait: the results differ between mechanisms \(work\)\. If they must, say in work\.rb what has to be equal, /,
                 result.err)
    assert_equal 1, JSON.parse(File.read(path("differ.json"))).dig("reports", 0, "mismatches").size
  end

  def test_a_body_that_raises
    write("work.rb", "items { [1, 2] }\nbody { |number| number == 2 ? raise(\"boom\") : number }\n")
    result = plait("compare", "work.rb", "--on", "sequence,threads", "--rounds", "2", "--no-html")
    assert_equal 1, result.code, result.err
    assert_match(/^  sequence +RuntimeError: boom/, result.out)
    assert_match(/^plait: failed: work \(sequence; threads \(limit 2\)\)$/, result.err)
  end

  def test_what_a_body_prints_does_not_spoil_json
    write("work.rb", "items { [1, 2] }\nbody { |number| puts \"hello\"; system(\"echo there\"); number }\n")
    result = plait("compare", "work.rb", "--on", "sequence,processes", "--rounds", "1", "--json", "--no-html")
    assert_equal 0, result.code, result.err
    assert_equal 2, JSON.parse(result.out).dig("reports", 0, "rows").size
    assert_match(/^hello$/, result.err)
    assert_match(/^there$/, result.err)
  end

  def test_sidekiq_is_for_bodies_that_are_jobs
    write("work.rb", "items { [1, 2] }\nbody { |number| number }\n")
    result = plait("compare", "work.rb", "--on", "sequence,sidekiq", "--rounds", "1", "--no-html")
    assert_match(/^  sidekiq \(limit 2\) +(on: :sidekiq runs jobs|.*it needs the gem sidekiq)/, result.out, result.err)
  end

  def test_a_mechanism_that_can_not_run_the_body_is_no_failure
    write("work.rb", "items { [1, 2] }\nbody { |number| -> { number } }\ndigest { |results| results.size.to_s }\n")
    result = plait("compare", "work.rb", "--on", "sequence,processes", "--rounds", "1", "--no-html")
    assert_equal 0, result.code, result.err
    assert_match(/^  processes \(limit 2\)  .*Proc/, result.out)
    assert_match(/^  sequence .* fastest/, result.out)
  end
end
