# frozen_string_literal: true

module ServerCases
  # Apps that fork. What is open there is the parent's.
  module Forks
    # Where the fork is called.
    APPS = {
      "/call" => ->(_, fork) { [200, {}, [fork.call ? "parent" : "child"]] },
      "/raise" => ->(_, fork) { fork.call ? [200, {}, ["parent"]] : raise("child") },
      "/exit" => ->(_, fork) { fork.call ? [200, {}, ["parent"]] : exit(7) },
      "/each" => ->(_, fork) { [200, {}, Enumerator.new { |body| body << (fork.call ? "parent" : "child") }] },
      "/finished" => lambda do |env, fork|
        env["rack.response_finished"] << ->(*) { fork.call }
        [200, {}, ["parent"]]
      end
    }.freeze

    # It must neither answer in its parent's place, nor serve from its epoll.
    def test_a_fork_that_comes_back_is_ended
      forks = Thread::Queue.new
      patient = -> { fork.tap { |pid| (forks << pid) && sleep(0.2) if pid } }
      serve(lint: false) { |env| APPS.fetch(env["PATH_INFO"]).call(env, patient) }
      told = errors_of_all do
        APPS.each_key do |path|
          assert_match(/parent\z/, get(path).body)
          assert_equal(path == "/exit" ? 7 : 1, exit_status(forks.pop), path)
        end
      end
      assert_equal(4, told.scan("that the app has forked came back to the server, and is ended").size)
    end

    # In the pool of the loop, and in a process.
    def test_a_fork_that_comes_back_from_elsewhere_is_ended
      reader, writer = IO.pipe
      app = ->(_) { (pid = fork) ? (writer.puts(pid) || [200, {}, [exit_status(pid).to_s]]) : [200, {}, ["child"]] }
      elsewhere = %i[threads processes].to_h { |name| ["/#{name}", Plait::Server.on(name) { true }.new(app)] }
      told = errors_of_all do
        serve(lint: false) { |env| elsewhere.fetch(env["PATH_INFO"]).call(env) }
        2.times { elsewhere.each_key { |path| assert_equal("1", get(path).body, path) } }
      end
      assert_equal(4, told.scan("came back to the server").size)
    ensure
      reader.read_nonblock(1000, exception: false).to_s.scan(/\d+/) { |pid| end_process(Integer(pid)) }
    end

    private

    # Of this process, and of those that are forked by it.
    def errors_of_all
      before = $stderr
      reader, writer = IO.pipe
      $stderr = writer
      yield
      writer.close
      reader.read_nonblock(10_000)
    ensure
      $stderr = before
    end

    # @return [Integer, nil]
    def exit_status(pid)
      wait_until { Process.wait(pid, Process::WNOHANG) }
      $?.exitstatus # rubocop:disable Style/SpecialGlobalVars -- of this thread
    end

    def end_process(pid)
      Process.kill(:KILL, pid)
    rescue Errno::ESRCH
      nil # as it has to be
    end
  end
end
