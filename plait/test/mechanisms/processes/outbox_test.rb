# frozen_string_literal: true

require "test_helper"
require "plait/mechanisms/processes"

class ProcessesOutboxTest < Minitest::Test
  def setup
    @reader, @writer = IO.pipe(binmode: true)
    @outbox = Plait::Mechanisms.const_get(:Processes)::Outbox.new(@writer)
  end

  def teardown = [@reader, @writer].each(&:close)

  def test_small_parts_are_one_write
    writes = 0
    readiness = Plait.const_get(:Readiness).singleton_class
    counter = TracePoint.new(:call) { |call| writes += 1 if call.defined_class == readiness && call.method_id == :write }
    @outbox << +"one" << +"two" << +"three"
    counter.enable { @outbox.flush }

    assert_predicate(@outbox, :empty?)
    assert_equal(1, writes)
    assert_equal("onetwothree", @reader.readpartial(100))
  end

  def test_it_never_waits_for_the_reader
    text = Random.bytes(1_000_000)
    @outbox << text.dup << +"end"
    received = +"".b
    until @outbox.empty?
      @outbox.flush
      received << @reader.readpartial(30_000)
    end
    received << @reader.readpartial(100_000) while received.bytesize < 1_000_003

    assert_equal(text + "end", received)
  end

  def test_it_counts_what_the_pipe_has_taken
    @outbox << ("a" * 100_000) << +"b"
    @outbox.flush

    assert_equal([100_001, 65_536], [@outbox.given, @outbox.written])
    @reader.readpartial(65_536)
    @outbox.flush

    assert_equal([100_001, 100_001], [@outbox.given, @outbox.written])
  end

  def test_more_may_be_added_while_it_is_half_written
    @outbox << ("a" * 100_000)
    @outbox.flush
    @outbox << +"b"
    received = +""
    (received << @reader.readpartial(50_000)) && @outbox.flush while received.bytesize < 100_001

    assert_equal("#{"a" * 100_000}b", received)
  end

  def test_a_reader_that_is_gone
    @reader.close
    @outbox << +"text"
    @outbox.flush

    assert_predicate(@outbox, :empty?)
  end
end
