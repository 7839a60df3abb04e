# frozen_string_literal: true

require "socket"
require "plait/io/reactor"
require "support/io_cases"
require_relative "reactor_cases/memory"
require_relative "reactor_cases/queues"
require_relative "reactor_cases/waits"

# What every reactor does; who includes it says `reactor_class`.
module ReactorCases
  READABLE = 1
  WRITABLE = 4

  def self.included(test_class)
    test_class.include(IoCases, Memory, Queues, Waits)
  end

  def setup
    @pairs = []
    @reactor = reactor_class.new
  end

  def teardown
    @reactor.close
    @pairs.flatten.each(&:close)
  end

  # @return [Array(Socket, Socket)] closed after the test
  def pair = UNIXSocket.pair.tap { |ends| @pairs << ends }

  # @return [Array<Array(Socket, Socket)>] in the reactor, each with its number as token
  def watched(count)
    Array.new(count) { |number| pair.tap { |ours, _| @reactor.add(ours, number) } }
  end

  def wait(seconds = 10, reactor: @reactor) = reactor.wait(within(seconds))

  # @return [Array<Array(Socket, Socket)>] those that have something to read now
  def write_to(pairs) = pairs.each { |pair| pair.last.write("x") }

  # @return [Array] all that is told, however many waits it takes
  def told
    tokens = []
    until (some = wait(0)).empty?
      tokens.concat(some)
    end
    tokens
  end

  def test_tells_who_has_something_to_read
    pairs = watched(3)
    assert_empty(wait(0))
    pairs[1].last.write("x")
    assert_equal([1], wait)
    assert_equal(3, @reactor.size)
  end

  def test_tells_once_until_it_is_armed_again
    ours, theirs = watched(1).first
    theirs.write("x")
    assert_equal([0], wait)
    theirs.write("y")
    assert_empty(wait(0.02))
    @reactor.rearm(ours)
    assert_equal([0], wait, "what is there still counts")
    ours.read_nonblock(10)
    @reactor.rearm(ours)
    assert_empty(wait(0.02))
  end

  def test_tells_of_the_end
    watched(1).first.last.close
    assert_equal([0], wait)
  end

  def test_writability
    ours, theirs = pair
    @reactor.add(ours, :it, WRITABLE)
    assert_equal([:it], wait)
    loop { break if ours.write_nonblock("x" * 65_536, exception: false) == :wait_writable }
    @reactor.rearm(ours, WRITABLE)
    assert_empty(wait(0.02))
    @reactor.rearm(ours, READABLE | WRITABLE)
    theirs.write("x")
    assert_equal([:it], wait)
    @reactor.rearm(ours, WRITABLE)
    assert_empty(wait(0.02))
    theirs.read_nonblock(1 << 20)
    assert_equal([:it], wait)
  end

  # Somebody adds an interest to what nobody has been told of yet.
  def test_another_interest_while_it_is_armed
    ours, = watched(1).first
    @reactor.rearm(ours, READABLE | WRITABLE)
    assert_equal([0], wait)
    assert_empty(wait(0.02))
  end

  def test_many_ready_ones_are_told_in_parts_and_each_once
    pairs = watched(150)
    write_to(pairs)
    first = wait
    assert_operator(first.size, :<, 150)
    assert_equal([*0...150], (first + told).sort)
    assert_empty(wait(0))
  end

  # Fairness: who is always ready comes again only after the others.
  def test_nobodys_turn_comes_twice_before_all_had_theirs
    pairs = watched(100)
    write_to(pairs)
    turns = []
    while turns.size < 300
      tokens = wait
      turns.concat(tokens)
      tokens.each { |number| @reactor.rearm(pairs[number].first) }
    end
    turns.each_slice(100).first(3).each { |round| assert_operator(round.uniq.size, :>=, 90) }
  end

  def test_removed
    ours, theirs = watched(1).first
    theirs.write("x")
    assert(@reactor.remove(ours))
    refute(@reactor.remove(ours))
    assert_empty(wait(0))
    assert_equal(0, @reactor.size)
    assert_raises(ArgumentError) { @reactor.rearm(ours) }
  end

  # Its event has come, but its turn has not: it was behind many others.
  def test_removed_while_it_is_ready
    pairs = watched(100)
    write_to(pairs)
    first = wait
    left = [*0...100] - first
    left.each { |number| @reactor.remove(pairs[number].first) }
    assert_empty(wait(0))
    left.each { |number| @reactor.add(pairs[number].first, "again #{number}") }
    assert_equal(left.map { |number| "again #{number}" }.sort, told.sort)
  end

  # The number of a file that was closed is soon another one's.
  def test_a_closed_one_is_forgotten_for_the_next_with_its_number
    ours, theirs = watched(1).first
    number = ours.fileno
    theirs.write("x")
    ours.close
    other, peer = pair
    skip("the system gave no such number again") unless [other, peer].any? { |one| one.fileno == number }
    other, peer = peer, other if peer.fileno == number
    @reactor.add(other, :other)
    assert_empty(wait(0.02))
    peer.write("x")
    assert_equal([:other], wait)
    assert_raises(IOError) { @reactor.remove(ours) }
    assert_raises(IOError) { @reactor.rearm(ours) }
  end

  def test_what_is_wrong_is_said
    ours, = pair
    assert_raises(ArgumentError) { @reactor.rearm(ours) }
    assert_raises(ArgumentError) { @reactor.add(ours, :it, 2) }
    assert_raises(ArgumentError) { @reactor.add(ours, :it, READABLE, 4) }
    assert_raises(ArgumentError) { @reactor.expire(-1, 0.0) }
    ours.close
    assert_raises(IOError) { @reactor.add(ours, :it) }
    assert_equal(0, @reactor.size)
  end

  def test_anything_with_to_io
    ours, theirs = pair
    @reactor.add(Struct.new(:to_io).new(ours), :it)
    theirs.write("x")
    assert_equal([:it], wait)
  end
end
