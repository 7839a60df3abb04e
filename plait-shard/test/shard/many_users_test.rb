# frozen_string_literal: true

# bin/test: alone

require_relative "proxy/nodes"

# What one client costs does not depend on how many other users are connected and ask nothing. (CPU time, against a proxy
# without them, round by round in turn, so that both meet the same machine.)
class ShardManyUsersTest < Minitest::Test
  include ShardNodes

  USERS = 600
  ROUNDS = 40
  REQUESTS = 300
  # On a busy machine all rounds of one side may meet the slower processor.
  TRIES = 5

  def hard_timeout = 300

  def test_users_at_rest_cost_a_turn_nothing
    users = Array.new(USERS) { |i| %W[ACL SETUSER u#{i} on >p ~* +@all] }
    nodes.each { |node| converse(node.port) { |redis| redis.pipeline(users) } }
    with_proxy(threads: 1, users: true) do |empty|
      with_proxy(threads: 1, users: true) do |full|
        resting = Array.new(USERS) { converse(full.port) }
        resting.each_with_index { |user, i| assert_equal("+OK\r\n", user.call("AUTH", "u#{i}", "p")) }
        assert(TRIES.times.any? { ratio(empty, full) < 2 }, "in each of #{TRIES} tries they cost as much again, or more")
        resting.each(&:close)
      end
    end
  ensure
    nodes.each { |node| call(node.port, "ACL", "DELUSER", *Array.new(USERS) { |i| "u#{i}" }) }
  end

  private

  def ratio(empty, full)
    alone, among_them = costs([empty, full].map { |proxy| converse(proxy.port) })
    among_them / alone
  end

  # @return [Array<Float>] seconds of CPU for a round of requests, of this process with the proxies in it; the least of several
  def costs(clients)
    Array.new(ROUNDS) { clients.map { |redis| cost(redis) } }.transpose.map(&:min)
  ensure
    clients.each(&:close)
  end

  def cost(redis)
    before = cpu
    REQUESTS.times { redis.call("GET", "k") }
    cpu - before
  end

  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
