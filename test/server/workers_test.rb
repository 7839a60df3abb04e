# frozen_string_literal: true

require_relative "../test_helper"
require "plait/server"
require "tmpdir"
require_relative "caller"

class ServerWorkersTest < Minitest::Test
  %i[threads fibers hybrid].each do |mechanism|
    define_method(:"test_workers_on_#{mechanism}") do
      assert_no_leaks do
        serving(mechanism) do |server|
          pids = seen(server, 2)
          refute_includes(pids, Process.pid)
          Process.kill(:KILL, pids.first)
          assert_equal([pids.last], seen(server, 2) & pids, "the dead one is replaced")
        end
      end
    end
  end

  def test_what_was_begun_is_answered
    serving(:threads, within: 20) do |server|
      caller = connect(server).send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { File.exist?("#{@folder}/begun") }
      server.stop(within: 20)
      File.write("#{@folder}/go", "")
      assert_match(/\A\d+\z/, caller.hear.body)
      caller.close
    end
  end

  private

  def serving(mechanism, within: 5)
    Dir.mktmpdir do |folder|
      @folder = folder
      server = Plait::Server.new(app(folder), on: mechanism, workers: 2, bind: "tcp://127.0.0.1:0")
      thread = server.start
      yield server
    ensure
      server&.stop(within: within)
      assert(thread.join(30), "it goes on")
    end
  end

  def app(folder)
    lambda do |env|
      if env["PATH_INFO"] == "/slow"
        File.write("#{folder}/begun", "")
        sleep(0.01) until File.exist?("#{folder}/go")
      end
      [200, {}, [Process.pid.to_s]]
    end
  end

  def connect(server) = Caller.new(TCPSocket.new("127.0.0.1", server.endpoints.first.port))

  # @return [Array<Integer>] so many processes that answer
  def seen(server, count)
    pids = []
    wait_until(timeout: 30) do
      caller = connect(server)
      pids |= [Integer(caller.get.body)]
      caller.close
      pids.size >= count
    rescue SystemCallError, EOFError
      nil # the one that was killed had it
    end
    pids.sort
  end
end
