# frozen_string_literal: true

require_relative "../test_helper"
require_relative "redis_server"
require_relative "mariadb_server"
require_relative "postgres_server"
require_relative "nginx_server"
require_relative "haproxy_server"
require_relative "apache_server"
require_relative "neovim_server"

class ServersTest < Minitest::Test
  { redis: Support::RedisServer, mariadb: Support::MariadbServer, postgres: Support::PostgresServer,
    nginx: Support::NginxServer, haproxy: Support::HaproxyServer, apache: Support::ApacheServer,
    neovim: Support::NeovimServer }.each do |name, server|
    define_method(:"test_#{name}_comes_up_and_leaves_nothing") do
      server.const_get(:PROGRAM).path!
      folder = pid = nil
      assert_no_leaks do
        server.start do |running|
          folder, pid = running.folder, running.pid
          Socket.tcp(running.host, running.port).close
        end
      end
      refute_path_exists(folder)
      assert_raises(Errno::ESRCH) { Process.kill(0, pid) }
    end
  end

  def test_a_shared_server_is_started_once
    first = Support::RedisServer.shared
    assert_same(first, Support::RedisServer.shared)
    assert_predicate(first, :alive?)
  end

  def test_a_shared_server_that_was_killed_is_replaced
    Support::RedisServer.shared.kill
    assert_predicate(Support::RedisServer.shared, :alive?)
  end

  def test_a_server_starts_again_where_it_was
    Support::NginxServer.start(server: "location / { return 200; }") do |server|
      before = [server.port, server.folder]
      %i[TERM KILL].each do |signal|
        was = server.pid
        server.restart(signal)
        refute_equal(was, server.pid)
        assert_equal(before, [server.port, server.folder])
      end
      refute_match(/in use/, server.log, "its workers ended too")
    end
  end

  def test_shared_servers_end_with_the_process
    shared = Support::RedisServer.shared
    refute_includes(fork_pids_after_exit, shared.pid)
    assert_predicate(shared, :alive?)
  end

  def test_a_server_that_ends_at_once_says_why
    before = Support::Server.all.dup
    error = assert_raises(Support::Server::DidNotStart) { Support::RedisServer.start(config: { "nonsense" => "1" }) }
    assert_match(/Bad directive|nonsense/, error.message)
    assert_equal(before, Support::Server.all)
  end

  def test_a_program_that_is_missing_skips_the_test_with_the_command_that_installs_it
    missing = Support::Program.new("no-such-program-here", apt: "no-such-package")
    error = assert_raises(Minitest::Skip) { missing.path! }
    assert_match(/no-such-program-here is not installed: .*install.* no-such-package/, error.message)
  end

  private

  # A fork that ends as usual must not take its parent's servers with it.
  def fork_pids_after_exit
    pid = fork { Support::Server.stop_all }
    Process.wait(pid)
    [pid]
  end
end
