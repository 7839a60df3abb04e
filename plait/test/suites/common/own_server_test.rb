# frozen_string_literal: true

require "test_helper"
require "support/waiting"
require "plait/suites"
require "plait/suites/common/own_server"

class OwnServerTest < Minitest::Test
  include Support::Waiting

  OwnServer = Plait::Suites::OwnServer
  SERVER = "require 'socket'; s = TCPServer.new('127.0.0.1', ARGV[0].to_i); loop { s.accept.close }"

  def in_folder(&block) = Dir.mktmpdir("plait-test-", &block)

  def start(server, code = SERVER)
    server.start(RbConfig.ruby, "--disable=gems", "-e", code, server.port.to_s) { server.listening? }
  end

  def test_it_listens_until_it_is_stopped
    assert_no_leaks do
      in_folder do |folder|
        server = OwnServer.new(folder)
        start(server)
        assert_equal("127.0.0.1:#{server.port}", server.address)
        server.stop
        refute_predicate(server, :listening?)
        server.stop
      end
    end
  end

  def test_a_server_that_does_not_start
    in_folder do |folder|
      server = OwnServer.new(folder)
      error = assert_raises(Plait::UnsupportedError) { start(server, "abort('no room')") }
      assert_match(/did not start: no room/, error.message)
      server.stop
      error = assert_raises(Plait::UnsupportedError) { server.prepare(RbConfig.ruby, "-e", "abort('no disk')") }
      assert_match(/failed: .*no disk/m, error.message)
    end
  end

  def test_it_ends_with_a_killed_process
    skip("this Ruby can't fork") unless Process.respond_to?(:fork)

    in_folder do |folder|
      server = OwnServer.new(folder)
      reader, writer = IO.pipe
      child = fork do
        start(server)
        writer.write("started")
        writer.close
        sleep
      end
      writer.close
      assert_equal("started", reader.read)
      Process.kill(:KILL, child)
      Process.wait(child)
      wait_until { !server.listening? }
    end
  end
end
