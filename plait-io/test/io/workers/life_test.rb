# frozen_string_literal: true

require "test_helper"
require "plait/io/workers"

class IoWorkersLifeTest < Minitest::Test
  Workers = Plait.const_get(:Io)::Workers

  # Counts routes that block.
  Work = Struct.new(:blocked) do
    def report = { counters: { requests: 1, blocked: blocked }, gauges: {} }
  end

  def setup
    @ours, @theirs = Workers::Link.pair
    @life = Workers::Life.new(0, @theirs, Workers::Plan.of)
  end

  def teardown = [@ours, @theirs].each(&:close)

  def test_a_report
    @life.ready(Work.new({ "GET /" => 2 }))
    assert_equal([:report, { counters: { requests: 1, blocked: { "GET /" => 2 } }, gauges: {} }], @ours.receive(60))
    assert_equal([:ready], @ours.receive(60))
  end

  # A kernel may let us send more than the parent receives at once.
  def test_one_that_is_too_large_goes_without_the_routes
    [Workers::Link::MOST, 16 << 20].each do |size|
      @life.ready(Work.new({ "x" * size => 1 }))
      assert_equal([:report, { counters: { requests: 1 }, gauges: {} }], @ours.receive(60))
      assert_equal([:ready], @ours.receive(60))
    end
  end
end
