# frozen_string_literal: true

require_relative "../test_helper"
require_relative "test_run"
require "stringio"

# bin/test's sums and what it makes of test files that misbehave.
class TestRunTest < Minitest::Test
  PASSING = "assert true"

  def test_the_last_line_adds_up_all_files
    ok, out = run_tests({ "a_test.rb" => [PASSING, "skip 'no server here'"],
                          "b_test.rb" => [PASSING, "assert false", "raise"] })
    refute(ok)
    assert_equal("2 passed, 2 failed, 1 skipped", out.lines.last.chomp)
    assert_match(/^ok +a_test.rb/, out)
    assert_match(/^FAILED b_test.rb/, out)
    assert_match(/1 × no server here/, out)
  end

  def test_all_passed
    ok, out = run_tests({ "a_test.rb" => [PASSING] })
    assert(ok)
    assert_equal("1 passed, 0 failed, 0 skipped", out.lines.last.chomp)
  end

  def test_a_process_that_dies_counts_as_failed
    ok, out = run_tests({ "a_test.rb" => ["Process.kill(:KILL, Process.pid); sleep"] })
    refute(ok)
    assert_match(/SIGKILL/, out)
    assert_equal("0 passed, 1 failed, 0 skipped", out.lines.last.chomp)
  end

  def test_a_file_that_does_not_parse_counts_as_failed
    ok, out = run_tests({ "a_test.rb" => ["("] })
    refute(ok)
    assert_match(/syntax error|SyntaxError/, out)
  end

  def test_a_process_left_behind_is_ended_and_counts_as_failed
    ok, out = run_tests({ "a_test.rb" => ["spawn('sleep', '77', pgroup: true)"] })
    refute(ok)
    pid = out[/left behind: process (\d+) sleep 77/, 1]
    wait_until { !File.exist?("/proc/#{pid}") || File.empty?("/proc/#{pid}/cmdline") }
  end

  def test_a_file_left_behind_counts_as_failed
    ok, out = run_tests({ "a_test.rb" => ["require 'tmpdir'; Dir.mktmpdir('mess')"] })
    refute(ok)
    assert_match(/left behind: mess\S+ in the temporary folder/, out)
  end

  def test_the_report_of_a_bug_that_is_left_behind_is_shown
    ok, out = run_tests({ "a_test.rb" => ["require 'tmpdir'; File.write(File.join(Dir.tmpdir, 'plait-crash-1.txt'), 'line 7')"] })
    refute(ok)
    assert_match(/left behind: plait-crash-1\.txt in the temporary folder:\s+line 7/, out)
  end

  def test_files_that_measure_time_run_after_the_others
    _, out = run_tests({ "a_test.rb" => [PASSING], "b_test.rb" => [PASSING] }, { "a_test.rb" => "# bin/test: alone" })
    assert_equal(%w[b_test.rb a_test.rb], out.scan(/^ok +(\S+)/).flatten)
  end

  def test_the_file_that_takes_longest_is_begun_first
    order = ->(root, *names) { Support::TestRun::Durations.new(root).longest_first(names.map { |name| "#{root}/#{name}" }) }
    Dir.mktmpdir("plait-test-") do |root|
      { "a" => 10, "b" => 5_000, "c" => 20 }.each { |name, bytes| File.write("#{root}/#{name}", "x" * bytes) }
      assert_equal(%w[b c a].map { |name| "#{root}/#{name}" }, order.call(root, "a", "b", "c"))
      durations = Support::TestRun::Durations.new(root)
      { "a" => 9, "b" => 1 }.each { |name, seconds| durations.add(Support::TestRun::Result.new(name: name, seconds: seconds)) }
      durations.save
      assert_equal(%w[a b c].map { |name| "#{root}/#{name}" }, order.call(root, "a", "b", "c"))
    end
  end

  def test_all_have_the_gems_of_the_bundle_and_those_that_say_so_have_bundler
    tests = ["assert(defined?(Bundler))", "assert(Gem.loaded_specs.fetch('rack').full_require_paths - $LOAD_PATH == [])",
             "gem('rack', '~> 3'); assert_raises(LoadError) { gem('nonsense') }"]
    _, out = run_tests({ "a_test.rb" => tests, "b_test.rb" => tests }, { "a_test.rb" => "# bin/test: bundler" }, bundle: true)
    assert_match(/^ok +a_test.rb +3 tests/, out)
    assert_match(/^FAILED b_test.rb +3 tests, 1 failed/, out)
  end

  private

  def run_tests(files, header = {}, **options)
    Dir.mktmpdir("plait-test-") do |root|
      paths = files.map { |name, bodies| write(root, name, header[name], bodies) }
      out = StringIO.new
      ruby = ["env", "-u", "GEM_HOME", "-u", "GEM_PATH", RbConfig.ruby] # of the bundle around this test
      [Support::TestRun.new(paths, ruby: ruby, root: root, out: out, **options).call, out.string]
    end
  end

  def write(root, name, header, bodies)
    tests = bodies.each_with_index.map { |body, number| "def test_#{number}\n#{body}\nend" }
    File.join(root, name).tap do |path|
      File.write(path, <<~RUBY)
        #{header}
        require #{File.join(Support::ROOT, "test/test_helper.rb").dump}
        class SampleTest < Minitest::Test
          #{tests.join("\n")}
        end
      RUBY
    end
  end
end
