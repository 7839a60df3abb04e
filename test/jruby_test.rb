# frozen_string_literal: true

require_relative "test_helper"
require "json"
require "open3"
require "plait/suites/common/jruby"
require "tmpdir"

# The gem on JRuby, which has neither its extension nor fork nor ractors nor a fiber scheduler. Runs on CRuby, and starts a
# JRuby where there is one: bin/matrix runs on JRuby itself the files that hold there.
class JRubyTest < Minitest::Test
  # What a Ruby of this process's kind is told by its environment does not concern the other one.
  ENVIRONMENT = { "LANG" => "C.UTF-8", **%w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE].to_h { |name| [name, nil] } }
                .freeze
  # Of the command line; all of them are plain Ruby. Loaded from where this Ruby has them.
  GEMS = %w[tty-progressbar tty-cursor tty-screen strings-ansi unicode-display_width].freeze

  # One line each, read off by the tests: a JVM takes seconds to start.
  CORE = <<~RUBY
    require "plait"
    require "json"

    def told(name)
      puts JSON.generate([name, yield])
    rescue StandardError => e
      puts JSON.generate([name, e.class.name, e.message])
    end

    Plait.timeout(30) { nil } # keeps a thread for good
    before = Thread.list
    told("engine") { RUBY_ENGINE }
    told("extension") { $LOADED_FEATURES.grep(/plait\\.so|io.event/) }
    told("offload") { Plait.offload { 7 } }
    told("timeout") { Plait.timeout(0.1) { sleep(30) } }
    %i[sequence threads].each do |on|
      told("map on \#{on}") { Plait.map([3, 1, 2], on: on, limit: 2) { |x| sleep(x / 100.0) && (x * 2) } }
      told("each_result on \#{on}") { Plait.each_result(1.., on: on, limit: 2) { |x| x * 2 }.first(3).map { |one| one.value / one.item } }
      told("first on \#{on}") { Plait.first([0, 5], on: on) { |x| x.zero? ? raise("no") : x } }
      told("run on \#{on}") { Plait.run(on: on) { |scope| [1, 2].map { |x| scope.async(x) { |y| y + 1 } }.sum(&:value) } }
      told("endless steps on \#{on}") { Plait.each_result(1.step, on: on, limit: 2) { |x| x }.first(2).size }
      told("failing scope on \#{on}") { Plait.run(on: on) { |scope| scope.async { sleep(30) } && raise(KeyError, "mine") } }
      told("failure on \#{on}") { Plait.map(%w[a b], on: on) { |x| x == "b" ? raise(KeyError, "not there") : x } }
      told("item's timeout on \#{on}") { Plait.map([30], on: on, timeout: 0.1) { |x| sleep(x) } }
      told("deadline on \#{on}") { Plait.map([30, 30], on: on, deadline: 0.1) { |x| sleep(x) } }
      told("retries on \#{on}") do
        tries = 0
        Plait.map([1], on: on, retries: { count: 2, base: 0.001 }) { |x| (tries += 1) < 3 ? raise("again") : [x, tries] }
      end
    end
    [:fibers, :hybrid, :processes, :ractors, %i[processes threads], %i[processes fibers]].each do |on|
      told(Array(on).join("+")) { Plait.map([1], on: on) { |x| x } }
      told("run on " + Array(on).join("+")) { Plait.run(on: on) { |scope| scope.async { 1 }.value } }
    end
    # JRuby ends the thread of a fiber a moment behind the fiber.
    told("threads left") { 100.times { (Thread.list - before).empty? || sleep(0.1) } && (Thread.list - before).map(&:inspect) }
  RUBY

  def hard_timeout = 300

  def setup
    @jruby = Plait::Suites::JRuby.find or skip(Plait::Suites::JRuby::ADVICE)
  end

  def test_the_core_runs_on_it
    told = core
    assert_equal(["jruby"], told["engine"])
    assert_equal([[]], told["extension"])
    assert_equal([7], told["offload"])
    assert_equal([[]], told["threads left"])
    assert_equal(["Plait::TimeoutError", "no end after 0.1 s"], told["timeout"])
    %w[sequence threads].each { |on| assert_whole(told, on) }
    { "fibers" => "no fiber scheduler", "hybrid" => "no fiber scheduler", "processes" => "can't fork",
      "ractors" => "this Ruby has no ractors", "processes+threads" => "can't fork", "processes+fibers" => "can't fork" }
      .each { |on, reason| assert_told_why(told, on, reason) }
  end

  def test_the_lab_and_the_command_line_run_on_it
    Dir.mktmpdir("plait-jruby") do |folder|
      out, err, status = plait("lab", "computing", "--tables", "--scale", "0.005", "--rounds", "1", "--json", "a.json",
                               folder: folder)
      assert_predicate(status, :success?, err)
      assert_match(/^Computing in Ruby: .*\n  JRuby has no GVL: threads use all cores$/, out)
      assert_match(/^  threads \(limit \d+\) +\d/, out)
      assert_match(/^  processes \(limit \d+\) +not available here: jruby on java can't fork; use on: :threads$/, out)
      assert_match(/Trials ran in the lab's own process/, out)
      assert_measured(File.join(folder, "a.json"))
      assert_path_exists(File.join(folder, "plait-report.html"))
    end
  end

  def test_a_mistake_is_one_sentence_there_too
    Dir.mktmpdir("plait-jruby") do |folder|
      _, err, status = plait("lab", "computing", "--on", "thread", folder: folder)
      assert_equal(2, status.exitstatus)
      assert_match(/^plait: --on: unknown mechanism "thread"; did you mean "threads"\?/, err)
      refute_match(/\.rb:\d+/, err)
    end
  end

  private

  def core
    out, err, status = Open3.capture3(ENVIRONMENT, *jruby, "--disable=gems", "-W", *Support::FLAGS, "-e",
                                      CORE)
    assert_predicate(status, :success?, err)
    refute_match(%r{#{Support::ROOT}/plait[a-z-]*/lib/.*warning}, err)
    out.lines.map { |line| JSON.parse(line) }.to_h { |name, *values| [name, values] }
  end

  def assert_whole(told, on)
    assert_equal([[6, 2, 4]], told["map on #{on}"])
    assert_equal([[2, 2, 2]], told["each_result on #{on}"])
    assert_equal([5], told["first on #{on}"])
    assert_equal([5], told["run on #{on}"])
    assert_equal(["KeyError", "not there (item 1: \"b\")"], told["failure on #{on}"])
    assert_equal([2], told["endless steps on #{on}"])
    assert_equal("KeyError", told["failing scope on #{on}"].first)
    assert_equal("Plait::TimeoutError", told["item's timeout on #{on}"].first)
    assert_equal("Plait::DeadlineExceeded", told["deadline on #{on}"].first)
    assert_equal([[[1, 3]]], told["retries on #{on}"])
  end

  # One sentence: why, and what to do.
  def assert_told_why(told, on, reason)
    [told[on], told["run on #{on}"]].each do |name, message|
      assert_equal("Plait::UnsupportedError", name, on)
      assert_includes(message, reason)
      assert_match(/\Aon: .* can't be used here: .*; use on: :threads\z/, message)
      refute_match(/\. |\n/, message)
    end
  end

  def assert_measured(path)
    reports = JSON.parse(File.read(path)).fetch("reports")
    assert_equal(%w[computing-zlib computing-ruby], reports.map { |report| report.dig("workload", "name") })
    reports.each do |report|
      measured = report.fetch("rows").select { |row| row["n"] == 1 }
      assert_equal([%w[sequence jruby], %w[threads jruby]], measured.map { |row| row.values_at("on", "engine") })
      assert_empty(report["mismatches"])
    end
  end

  # What runs for seconds is not worth the best code: half of the processor time is that of the compiler.
  def jruby
    program, *rest = @jruby.command
    [program, *(%w[-XX:TieredStopAtLevel=1 -XX:+UseSerialGC] if File.basename(program) == "java"), *rest]
  end

  def plait(*arguments, folder:)
    libraries = GEMS.flat_map { |name| Gem.loaded_specs.fetch(name).full_require_paths }
    Open3.capture3(ENVIRONMENT, *jruby, *libraries.map { |path| "-I#{path}" }, "#{Support::ROOT}/plait/exe/plait", *arguments,
                   chdir: folder)
  end
end
