# frozen_string_literal: true

# bin/test: alone

require_relative "proxy/nodes"

# What one client costs does not depend on how many other users are connected and ask nothing. (CPU time, against itself.)
class ShardManyUsersTest < Minitest::Test
  include ShardNodes

  USERS = 600
  ROUNDS = 40
  REQUESTS = 300

  def test_users_at_rest_cost_a_turn_nothing
    users = Array.new(USERS) { |i| %W[ACL SETUSER u#{i} on >p ~* +@all] }
    nodes.each { |node| converse(node.port) { |redis| redis.pipeline(users) } }
    with_proxy(threads: 1, users: true) do |proxy|
      converse(proxy.port) do |redis|
        before = cost(redis)
        resting = Array.new(USERS) { converse(proxy.port) }
        resting.each_with_index { |user, i| assert_equal("+OK\r\n", user.call("AUTH", "u#{i}", "p")) }
        assert_operator(cost(redis), :<, before * 2)
        resting.each(&:close)
      end
    end
  ensure
    nodes.each { |node| call(node.port, "ACL", "DELUSER", *Array.new(USERS) { |i| "u#{i}" }) }
  end

  private

  # @return [Float] seconds of CPU for a round of requests, of this process with the proxy in it; the least of several
  def cost(redis)
    Array.new(ROUNDS) do
      before = cpu
      REQUESTS.times { redis.call("GET", "k") }
      cpu - before
    end.min
  end

  def cpu = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
