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

  # A server that ends removes its file between our opening and our locking.
  def test_a_file_that_is_removed_while_it_is_taken
    Dir.mktmpdir do |folder|
      path = "#{folder}/pid"
      open = File.method(:open)
      removing = 2
      opened = ->(*arguments) { open.call(*arguments).tap { (removing -= 1) >= 0 && File.unlink(path) } }
      file = File.stub(:open, opened) { Plait::Server::PidFile.new(path) }
      assert_equal(Process.pid, Plait::Server::PidFile.holder(path))
      file.remove
      assert_empty(Dir.children(folder))
    end
  end

  def test_bytes_of_clients_and_errors_in_a_status_file
    Dir.mktmpdir do |folder|
      state = Plait::Server::StateFile.new("#{folder}/state")
      state.write(obituary: "caf\xE9", counters: { blocked: { "GET /caf\xE9".b => 1 } }, endpoints: ["café".b])
      told = JSON.parse(File.read("#{folder}/state", encoding: "UTF-8"))
      assert_equal(["caf?", { "blocked" => { "GET /caf?" => 1 } }, ["café"]], told.values_at("obituary", "counters", "endpoints"))
    end
  end

  def test_a_status_that_can_not_be_had_is_asked_for_again
    Dir.mktmpdir do |folder|
      state = Plait::Server::StateFile.new("#{folder}/state")
      errors = [KeyError, IOError]
      state.follow { errors.empty? ? { phase: "serving" } : raise(errors.shift) }
      wait_until { File.exist?("#{folder}/state") }
      state.remove
      assert_empty(Dir.children(folder))
    end
  end

  def test_an_end_between_the_two_steps_of_a_write
    Dir.mktmpdir do |folder|
      state = Plait::Server::StateFile.new("#{folder}/state")
      writing = false
      File.stub(:rename, ->(*) { (writing = true) && sleep }) do
        state.follow { { phase: "serving" } }
        wait_until { writing }
        state.remove
      end
      assert_empty(Dir.children(folder))
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
