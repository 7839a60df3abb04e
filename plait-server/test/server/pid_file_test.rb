# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/pid_file"
require "plait/server/state_file"
require "tmpdir"

class ServerPidFileTest < Minitest::Test
  # On a full disk an empty file can be created.
  def test_one_that_can_not_be_written_is_not_left_behind
    Dir.mktmpdir do |folder|
      error = assert_raises(Plait::UsageError) { on_a_full_disk { Plait::Server::PidFile.new("#{folder}/pid") } }
      assert_match(%r{the PID file .*/pid can't be written: }, error.message)
      assert_empty(Dir.children(folder))
    end
  end

  def test_nor_is_a_part_of_a_status_file
    Dir.mktmpdir do |folder|
      state = Plait::Server::StateFile.new("#{folder}/state")
      assert_raises(SystemCallError) { on_a_full_disk { state.write(phase: "serving") } }
      assert_empty(Dir.children(folder))
    end
  end

  def test_they_stay_where_they_are_when_an_app_goes_elsewhere
    Dir.mktmpdir do |folder|
      Dir.chdir(folder) do
        pid = Plait::Server::PidFile.new("pid")
        state = Plait::Server::StateFile.new("state")
        Dir.chdir("/") { state.write(phase: "serving") && [pid, state].each(&:remove) }
        assert_empty(Dir.children("."))
      end
    end
  end

  private

  # As much as a file may have; the signal would end us.
  def on_a_full_disk
    most = Process.getrlimit(:FSIZE)
    before = trap("XFSZ", "IGNORE")
    Process.setrlimit(:FSIZE, 0, most.last)
    yield
  ensure
    Process.setrlimit(:FSIZE, *most)
    trap("XFSZ", before)
  end
end
