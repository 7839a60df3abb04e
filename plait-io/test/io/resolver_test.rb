# frozen_string_literal: true

require "test_helper"
require "support/io_cases"

class IoResolverTest < Minitest::Test
  include IoCases

  Resolver = Plait.const_get(:Io)::Resolver

  # Stands before getaddrinfo(3) for some names: the name server that doesn't answer. Names of an earlier test, whose lookup
  # begins late, are answered at once.
  module SlowNames
    DOMAIN = ".slow.invalid"

    class << self
      attr_accessor :gate, :asked, :names
    end

    def getaddrinfo(host, port = nil, *rest)
      return super unless host.end_with?(DOMAIN)

      if SlowNames.names && host.end_with?(SlowNames.names)
        SlowNames.asked << host
        SlowNames.gate.pop
      end
      super("127.0.0.1", port, *rest)
    end
  end
  Addrinfo.singleton_class.prepend(SlowNames)

  def setup
    SlowNames.gate = Queue.new
    SlowNames.asked = Queue.new
    SlowNames.names = slow
  end

  def teardown
    SlowNames.names = nil
    SlowNames.gate.close
  end

  # A name of this test alone: lookups of the others may be under way.
  def slow = "#{name.downcase.tr("^a-z", "-")}#{SlowNames::DOMAIN}"

  everywhere("finds addresses") do
    addresses = Resolver.new.resolve("localhost", 80, deadline: within(30))
    assert_includes(addresses.map(&:ip_address), "127.0.0.1")
    assert_equal([80], addresses.map(&:ip_port).uniq)
    assert_includes(Resolver.new.resolve("localhost", 80).map(&:ip_address), "127.0.0.1")
  end

  everywhere("a name server that doesn't answer", on: %i[threads fibers]) do
    took = Array.new(3).lazy.map do # a machine that stands still fails one try
      stopwatch do
        error = assert_raises(Plait::ConnectTimeout) { Resolver.new.resolve(slow, 80, deadline: within(0.05)) }
        assert_equal(:resolve, error.phase)
        assert_match(/#{slow}.*name server/, error.message)
        assert_predicate(error, :retry_safe?)
      end
    end
    assert(took.any? { |seconds| seconds < 10 })
  end

  # In a fiber, of a scheduler of ours and of one that can't resolve.
  def test_other_fibers_go_on_meanwhile
    ticks = 0
    Plait.run(on: :fibers) do |scope|
      lookup = scope.async { Resolver.new.resolve(slow, 80, deadline: within(60)) }
      scope.async { 5.times { sleep(0.001) && (ticks += 1) } }.value
      SlowNames.gate << :go
      assert_equal("127.0.0.1", lookup.value.first.ip_address)
    end
    assert_equal(5, ticks)
  end

  def test_those_who_give_up_and_ask_again_share_one_thread
    assert_no_leaks do
      5.times { assert_raises(Plait::ConnectTimeout) { Resolver.new.resolve(slow, 80, deadline: within(0.01)) } }
      wait_until { SlowNames.asked.size.positive? }
      last = Thread.new { Resolver.new.resolve(slow, 80, deadline: within(60)) }
      wait_until { last.stop? }
      SlowNames.gate << :go
      assert_equal("127.0.0.1", last.value.first.ip_address)
      assert_equal(1, SlowNames.asked.size)
    end
  end

  def test_names_that_are_not_answered_hold_so_many_threads_and_no_more
    skip("no fork here") unless Process.respond_to?(:fork)
    before = Thread.list.size
    names = Array.new(Resolver.const_get(:Lookup)::MOST + 5) { |number| "n#{number}.#{slow}" }
    names.each { |name| assert_raises(Plait::ConnectTimeout) { Resolver.new.resolve(name, 80, deadline: within(0.001)) } }
    assert_operator(Thread.list.size, :<=, before + Resolver.const_get(:Lookup)::MOST)
    waiting = Thread.new { Resolver.new.resolve("last.#{slow}", 80, deadline: within(60)) }
    wait_until { waiting.stop? }
    pid = fork { exit!(Resolver.new.resolve("localhost", 80, deadline: within(30)).any? ? 0 : 1) }
    assert_predicate(Process.wait2(pid).last, :success?)
    (names.size + 1).times { SlowNames.gate << :go }
    assert_equal("127.0.0.1", waiting.value.first.ip_address)
    wait_until { Resolver.const_get(:Lookup).instance_variable_get(:@running).empty? }
  end

  def test_a_killed_lookup_is_forgotten
    assert_no_leaks do
      thread = Thread.new { Resolver.new.resolve(slow, 80, deadline: within(60)) }
      wait_until { SlowNames.asked.size == 1 && thread.stop? }
      thread.kill.join
      SlowNames.gate << :go
    end
    wait_until { Resolver.const_get(:Lookup).instance_variable_get(:@running).empty? } # those of earlier tests too
  end

  def test_the_child_of_a_fork_asks_anew
    skip("no fork here") unless Process.respond_to?(:fork)
    thread = Thread.new { Resolver.new.resolve(slow, 80, deadline: within(60)) }
    wait_until { SlowNames.asked.size == 1 }
    pid = fork do
      SlowNames.gate = Queue.new << :go
      exit!(Resolver.new.resolve(slow, 80, deadline: within(60)).size == 1 ? 0 : 1)
    end
    assert_predicate(Process.wait2(pid).last, :success?)
    SlowNames.gate << :go
    thread.join
  end
end
