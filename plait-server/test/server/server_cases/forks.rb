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

    WAYS = [
      ->(&on) { [1].each(&on) },
      ->(&on) { "a".gsub("a") { on.call && "" } },
      ->(&on) { { 1 => 1 }.each { on.call } },
      ->(&on) { [2, 1].sort { |_, _| on.call && 0 } }
    ].freeze

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

    # The child's own threads have got the memory of the stacks of the parent's.
    def test_blocks_of_other_answers_in_a_fork
      kept = Thread::Queue.new
      over = Thread::Queue.new
      body = Class.new { define_method(:each) { |&block| block.call("a") && (kept << block) && over.pop } }
      serve(lint: false) do |env|
        next [200, {}, body.new] unless env["PATH_INFO"] == "/fork"

        [200, {}, [said_by_a_fork { errors_of(Array.new(8) { kept.pop }).inspect }]]
      end
      callers = Array.new(8) { connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      wait_until { kept.size == 8 }
      assert_equal('["the peer is gone"]', get("/fork").body)
      8.times { over << true }
      assert_equal(%w[a], callers.map { |caller| caller.hear.body }.uniq)
    end

    private

    def said_by_a_fork
      reader, writer = IO.pipe
      pid = fork do
        writer.syswrite(yield)
        exit!(0)
      end
      writer.close
      reader.read.tap { Process.wait(pid) }
    end

    # Each way uses the memory of the stacks differently.
    def errors_of(blocks)
      WAYS.flat_map do |way|
        use_stacks(way)
        blocks.map { |block| error_of { block.call("b") } }
      end.uniq
    end

    def error_of
      yield
      "none"
    rescue StandardError => e
      e.message
    end

    def use_stacks(way)
      deeper = ->(depth) { depth.zero? ? sleep(0.02) : way.call { deeper.call(depth - 1) } }
      Array.new(14) { |number| Thread.new { deeper.call(20 + number) } }.each(&:join)
    end
  end
end
