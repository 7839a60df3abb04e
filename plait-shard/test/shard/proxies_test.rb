# frozen_string_literal: true

require_relative "proxies"

# Three proxies before the same nodes, writers at all of them, keys that move, and proxies that die or sleep meanwhile: nothing
# that was acknowledged is lost, and nothing older is read. PLAIT_FENCE_ROUNDS=200 goes on for longer, PLAIT_FENCE_SEED
# repeats one.
class ShardProxiesTest < Minitest::Test
  # Proxies agree after leases of some seconds.
  def hard_timeout = 400

  include ShardNodes
  include ShardProxies

  ROUNDS = Integer(ENV.fetch("PLAIT_FENCE_ROUNDS", "3"))
  SEED = Integer(ENV.fetch("PLAIT_FENCE_SEED") { rand(1 << 16) })
  # A proxy ends itself, or sleeps, behind so many nodes that were told of a step: once, as nothing wakes it a second time.
  STEPS = [["moving", 4], ["closed", 1], ["closed", 4], ["moved", 1]].freeze
  HURT = <<~RUBY
    require "plait/shard/reshard_lock"
    hurt = false
    Plait::Shard.const_get(:ReshardLock).prepend(Module.new do
      define_method(:put) do |connection, name, record|
        super(connection, name, record).tap do
          next if hurt || record.state != "%<state>s" || (@told = @told.to_i + 1) < %<count>d

          hurt = true
          Process.kill(:%<signal>s, Process.pid)
          sleep(1)
        end
      end
    end)
  RUBY

  def test_kills_at_any_moment
    random = Random.new(SEED)
    begin_with(3)
    start_writers(6, random)
    ROUNDS.times { |round| play(random, targets[round % targets.size]) }
    counts = @writers.map { |writer| writer.acknowledged.size }
    wait_until { @writers.zip(counts).all? { |writer, count| writer.acknowledged.size >= count && writer.reads.positive? } }
    assert_equal([[], []], [lost, @writers.flat_map(&:lies)], "seed #{SEED}")
  end

  STEPS.each do |state, count|
    %w[KILL STOP].each do |signal|
      define_method("test_#{signal.downcase}_behind_#{count}_nodes_that_are_#{state}") do
        leader = start_proxy(addresses.first(2), prelude: format(HURT, state: state, signal: signal, count: count))
        begin_with(1)
        start_writers(3, Random.new(1))
        wait_until { @writers.all? { |writer| writer.acknowledged.size > 10 } }
        take_over(leader, signal)
        assert_equal([[], []], [lost, @writers.flat_map(&:lies)])
      end
    end
  end

  private

  def begin_with(count)
    count.times { start_proxy(addresses.first(2)) }
    wait_until { at?(addresses.first(2)) }
    fill(4000)
  end

  def targets = [addresses, addresses.last(2), addresses.first(3).reverse, addresses.first(2)]

  # One moves the keys, and one of them is hurt at some moment.
  def play(random, target)
    @proxies.each { |proxy| proxy.configure(target) }
    leader, hurt = Array.new(2) { @proxies.sample(random: random) }
    leader.signal(:HUP)
    sleep(random.rand * 1.5)
    random.rand < 0.5 ? hurt.restart(:KILL) : sleep_well(hurt, random)
    settle(target, random)
  end

  # Longer than its lease, while others go on or not.
  def sleep_well(proxy, random)
    proxy.signal(:STOP)
    (@proxies - [proxy]).sample(random: random).signal(:HUP) if random.rand < 0.5
    sleep(2.5)
    proxy.signal(:CONT)
  end

  # By the other one, when the lease is over; then the first goes on.
  def take_over(leader, signal)
    @proxies.each { |proxy| proxy.configure(addresses) }
    wait_until { leader.signal(:HUP) && halted?(leader) }
    leader.hurt("")
    settle(addresses, Random.new(2), except: [leader])
    signal == "KILL" ? leader.restart(:KILL) : leader.signal(:CONT)
    settle(addresses, Random.new(3))
    move_again(leader) if signal == "STOP"
  end

  # It can do now what it was hurt at.
  def move_again(leader)
    before = changes(leader)
    leader.signal(:HUP)
    wait_until(what: -> { report(leader) }) { changes(leader) > before }
  end

  def changes(proxy) = proxy.log.scan(/^(?:not )?reloaded\b/).size

  def halted?(proxy) = /[TZ]/.match?(state_of(proxy))
end
