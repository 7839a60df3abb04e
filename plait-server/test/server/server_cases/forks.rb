# frozen_string_literal: true

require_relative "../fork_ends"

module ServerCases
  # Apps that fork. What is open there is the parent's.
  module Forks
    include ForkEnds

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
  end
end
