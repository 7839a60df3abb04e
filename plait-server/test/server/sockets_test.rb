# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/configuration"
require "plait/server/sockets"

class ServerSocketsTest < Minitest::Test
  def test_a_service_manager_that_gives_none
    env = { "LISTEN_FDS" => "-3", "LISTEN_PID" => Process.pid.to_s }
    error = assert_raises(Plait::ListenError) { sockets([], env) }
    assert_match(/\ALISTEN_FDS is/, error.message)
  end

  # What was opened for the first place is closed when the second one is taken.
  def test_all_or_none
    taken = TCPServer.new("127.0.0.1", 0)
    assert_no_leaks do
      assert_raises(Plait::ListenError) { sockets(["tcp://127.0.0.1:0", "tcp://127.0.0.1:#{taken.addr[1]}"]) }
    end
  ensure
    taken.close
  end

  def test_a_certificate_is_read_before_anything_is_opened
    places = ["tcp://127.0.0.1:0", "ssl://127.0.0.1:0?cert=/nonexistent&key=/nonexistent"]
    error = assert_raises(Plait::UsageError) { sockets(places) }
    assert_match(/certificate: .*nonexistent can't be read: No such file or directory/, error.message)
  end

  def test_workers_have_sockets_of_their_own_only_where_the_kernel_deals_connections_out
    configuration = Plait::Server::Configuration.of({ binds: ["tcp://127.0.0.1:0"], reuse_port: true })
    found = [true, false].map do |deals|
      all = Plait::Server::Sockets.new(configuration, 3, {}, deals: deals)
      [all.handed_over.size, all.warnings.grep(/\Areuse_port! has no effect here/).size]
    ensure
      all.close
    end
    assert_equal([[3, 0], [1, 1]], found)
  end

  private

  def sockets(binds, env = {}) = Plait::Server::Sockets.new(Plait::Server::Configuration.of({ binds: binds }), 1, env)
end
