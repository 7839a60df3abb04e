# frozen_string_literal: true

require "stringio"
require "support/program"
require_relative "proxy/nodes"
require_relative "redis_suite/comparison"

# The tool that runs Redis' own tests, on a suite of a few lines that prints as that does.
class RedisSuiteTest < Minitest::Test
  include ShardNodes

  SUITE = <<~'TCL'
    set skipped [lsearch -exact $argv "hangs"]
    set port [lindex $argv [expr {[lsearch $argv "--port"] + 1}]]
    if {[lindex $argv 0] eq "--list-tests"} { puts "unit/one"; exit }
    set fd [socket 127.0.0.1 $port]
    puts $fd "MONITOR"
    flush $fd
    set monitors [expr {[string index [gets $fd] 0] eq "+"}]
    puts "\[ready\]: 1"
    puts "\[\033\[32mok\033\[0m\]: twice (3 ms)"
    puts "\[\033\[32mok\033\[0m\]: twice (3 ms)"
    if {$monitors} { puts "\[ok\]: watches (1 ms)" } else { puts "\[err\]: watches in tests/unit/one.tcl\nno\nmonitor" }
    if {$monitors || $skipped >= 0} { puts "\[ok\]: hangs (1 ms)\n\[ok\]: last (2 ms)" } else {
      puts "\[TIMEOUT\]: clients state report follows.\nsock1 => (IN PROGRESS) hangs"
      exit 1
    }
    puts "\n                   The End\n"
    puts "*** \[err\]: named again in tests/unit/one.tcl"
  TCL

  def setup
    super
    Support::Program.new("tclsh", apt: "tcl").path!
    @folder = Dir.mktmpdir("plait-suite-")
    FileUtils.mkdir_p(File.join(@folder, "tests"))
    File.write(File.join(@folder, "tests/test_helper.tcl"), SUITE)
  end

  def teardown
    FileUtils.rm_rf(@folder) if @folder
    super
  end

  def test_verdicts
    verdicts = RedisSuite::Unit.new(@folder, "unit/one").run { |&attempt| attempt.call(plain.port) }
    assert_equal({ "twice" => nil, "twice #2" => nil, "watches" => nil, "hangs" => nil, "last" => nil }, verdicts)
  end

  def test_a_test_that_hangs_does_not_hide_the_others
    with_proxy do |proxy|
      verdicts = RedisSuite::Unit.new(@folder, "unit/one").run { |&attempt| attempt.call(proxy.port) }
      assert_equal("it hung", verdicts.fetch("hangs"))
      assert_equal("no\nmonitor", verdicts.fetch("watches"))
      assert_includes(verdicts.keys, "last")
      assert_nil(verdicts.fetch("last"))
    end
  end

  def test_what_passes_only_directly
    out = StringIO.new
    with_environment(RedisSuite::Source::VARIABLE => @folder) do
      assert_in_delta(0.6, RedisSuite::Comparison.new(kept: @folder, out: out).run)
    end
    assert_match(%r{^unit/one: 3 of 5$}, out.string)
    assert_match(/^  watches: no monitor$/, out.string)
    assert_match(/5 tests pass directly, 3 of them through the proxy: 60.0 %$/, out.string)
  end

  def test_no_sources
    with_environment(RedisSuite::Source::VARIABLE => "/nowhere") do
      error = assert_raises(RuntimeError) { RedisSuite::Comparison.new(kept: @folder, out: StringIO.new).run }
      assert_match(/name a tree of Redis' sources with PLAIT_REDIS_SOURCE/, error.message)
    end
  end

  private

  def with_environment(variables)
    before = variables.keys.to_h { |name| [name, ENV.fetch(name, nil)] }
    ENV.update(variables)
    yield
  ensure
    ENV.update(before)
  end
end
