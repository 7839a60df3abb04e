# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabEnvironmentTest < Minitest::Test
  def test_what_a_reader_needs_to_judge_figures
    here = Plait::Lab::Environment.facts
    assert_equal([RUBY_DESCRIPTION, Plait::VERSION, Etc.nprocessors], [here[:ruby], here[:plait], here[:cpus]])
    assert_match(/\A\d{4}-\d\d-\d\dT/, here[:date])
    assert_includes(Plait::Lab::Environment.line(here), "#{Etc.nprocessors} CPUs")
    assert_operator(here[:memory_bytes], :>, 1_000_000) if File.readable?("/proc/meminfo")
    JSON.generate(here)
  end

  def test_what_is_unknown_is_left_out
    bare = { ruby_version: "3.9", engine: "x", cpus: 2 }
    assert_equal("Ruby 3.9 (x), 2 CPUs", Plait::Lab::Environment.line(bare))
  end
end
