# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/state_file"
require "tmpdir"

class ServerRunningTest < Minitest::Test
  RUNNING = Plait::Server::Running

  def test_one_that_runs_did_so_before
    assert_equal(RUNNING.since(Process.pid), RUNNING.since(Process.pid))
    assert_operator(RUNNING.since(Process.pid), :>, RUNNING.since(1))
  end

  def test_one_that_has_ended
    pid = Process.spawn("true")
    wait_until { RUNNING.since(pid).nil? } # nobody has waited for it
    Process.wait(pid)
    assert_nil(RUNNING.since(pid))
  end

  def test_a_system_without_proc_tells_only_that_it_runs
    pid = Process.spawn("true")
    Process.wait(pid)
    assert_equal([0, nil], [Process.pid, pid].map { |number| RUNNING.since(number, "/nonexistent") })
  end

  def test_a_name_with_everything_in_it
    Dir.mktmpdir do |folder|
      File.symlink(`which sleep`.chomp, "#{folder}/) Z 1 (")
      pid = Process.spawn("#{folder}/) Z 1 (", "1000")
      assert_operator(RUNNING.since(pid), :>, RUNNING.since(1))
    ensure
      Process.kill(:KILL, pid) && Process.wait(pid)
    end
  end
end
