# frozen_string_literal: true

# bin/test: alone

require_relative "proxy/nodes"

# What one client costs does not depend on how many other users are connected and ask nothing. (CPU time, of the same proxy
# before they come: of two proxies one may have the slower processor for good.)
class ShardManyUsersTest < Minitest::Test
  include ShardNodes

  USERS = 600
  ROUNDS = 40
  REQUESTS = 300
  # On a busy machine something else may make one of the two dearer.
  TRIES = 5

  def hard_timeout = 300

  def test_users_at_rest_cost_a_turn_nothing
    users = Array.new(USERS) { |i| %W[ACL SETUSER u#{i} on >p ~* +@all] }
    nodes.each { |node| converse(node.port) { |redis| redis.pipeline(users) } }
    with_proxy(threads: 1, users: true) do |proxy|
      assert(TRIES.times.any? { ratio(proxy) < 2 }, "in each of #{TRIES} tries a request costs as much again, or more")
    end
  ensure
    nodes.each { |node| call(node.port, "ACL", "DELUSER", *Array.new(USERS) { |i| "u#{i}" }) }
  end

  private

  # @return [Float] what a request costs among users at rest, held against the same without them
  def ratio(proxy)
    alone = least_cost(proxy)
    resting = Array.new(USERS) { converse(proxy.port) }
    resting.each_with_index { |user, i| assert_equal("+OK\r\n", user.call("AUTH", "u#{i}", "p")) }
    least_cost(proxy) / alone
  ensure
    resting&.each(&:close)
  end

  # @return [Float] seconds of CPU for a round of requests, of this process with the proxy in it; the least of several
  def least_cost(proxy)
    client = converse(proxy.port)
    Array.new(ROUNDS) { cost(client) }.min
  ensure
    client&.close
  end

  def cost(redis)
    before = cpu
    REQUESTS.times { redis.call("GET", "k") }
    cpu - before
  end

  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
