# frozen_string_literal: true

require "msgpack"
require_relative "batches"

module ServerCases
  # Requests of methods that have been quick so far, when there is nothing else to do: who leads runs them himself.
  module LoneRequests
    # The leader runs it himself, and has not let go of the connection.
    def test_one_for_itself_that_waits_holds_up_nobody
      quick = serve_quick
      talker = trained
      other = connect
      talker.request(100, "pause", true)
      assert_equal([nil, 3], call(other, "add", 1, 2))
      assert_equal([nil, 7], call(talker, "add", 3, 4))
      quick.gate << "late"
      assert_equal([1, 100, nil, "late"], talker.hear)
      assert_equal([nil, 3], call(talker, "add", 1, 2))
      wait_until { count(:running).zero? }
    end

    def test_one_for_itself_that_asks_its_caller
      serve_quick
      talker = trained
      20.times { assert_equal([nil, "nobody"], call(talker, "ask", false)) }
      talker.request(100, "ask", true)
      kind, id, name, = talker.hear
      assert_equal([0, "answer"], [kind, name])
      talker.socket.write([1, id, nil, "me"].to_msgpack)
      assert_equal([1, 100, nil, "me"], talker.hear)
    end

    def test_one_for_itself_that_kills_its_thread
      serve_quick
      talker = trained
      20.times { assert_equal([nil, "alive"], call(talker, "die", false)) }
      talker.request(100, "die", true)
      assert_match(/ended before it had a result|called exit/, talker.hear[2])
      assert_equal([nil, 3], call(talker, "add", 1, 2))
      wait_until { count(:running).zero? }
    end

    # The one who leads waits at its socket: all is counted nevertheless, also what is run just now.
    def test_those_of_a_peer_that_asks_again_and_again_are_counted
      serve_quick
      talker = trained
      wait_until { count(:running).zero? && count(:waiting).zero? } # a caller has its answer before that is counted
      before = { requests: count(:requests), done: count(:done), notifications: count(:notifications) }
      50.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) }
      talker.say(2, "note", [1])
      assert_equal([nil, 3], call(talker, "add", 1, 2))
      expected = { requests: 51, done: 52, notifications: 1 }
      since = -> { before.to_h { |what, number| [what, count(what) - number] } }
      wait_until { since.call == expected } if RUBY_ENGINE == "jruby" # whose threads run at the same time
      assert_equal(expected, since.call)
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    # Of all kinds, one after another: what is not quick is left to others.
    def test_every_kind_one_after_another
      serve_quick
      talker = trained
      (Batches::EXPECTED.to_a * 5).shuffle(random: Random.new(7)).each do |(method, arguments), (error, result)|
        5.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) }
        told, value = call(talker, method, *arguments)
        assert_equal([error, result], [told && told[/.*/], value], method)
      end
      wait_until { count(:running).zero? }
    end

    # More than who leads takes upon himself at once. Those behind one that he does not answer himself, or not at once, are in
    # no socket any more.
    def test_every_kind_with_many_behind_it
      serve_quick
      talker = trained
      others = Array.new(40) { |id| [0, id, "add", [id, id]] }
      Batches::EXPECTED.each do |(method, arguments), (error, result)|
        5.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) }
        talker.socket.write([[0, 100, method, arguments], *others].map(&:to_msgpack).join)
        *rest, (_, _, told, value) = talker.hear_many(41).sort_by { |answer| answer[1] }
        assert_equal([error, result], [told && told[/.*/], value], method)
        assert_equal(Array.new(40) { |id| [1, id, nil, 2 * id] }, rest)
      end
    end

    def test_one_that_waits_all_of_a_sudden_with_many_behind_it
      quick = serve_quick
      talker = trained
      others = Array.new(40) { |id| [0, id, "add", [id, id]] }
      5.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) }
      talker.socket.write([[0, 100, "pause", [true]], *others].map(&:to_msgpack).join)
      assert_equal(Array.new(40) { |id| [1, id, nil, 2 * id] }, talker.hear_many(40).sort)
      quick.gate << "late"
      assert_equal([1, 100, nil, "late"], talker.hear)
    end

    # The fork goes on with the method. It sends nothing to the peer, and takes nothing from it.
    def test_one_for_itself_that_forks
      skip("no fork here") unless Process.respond_to?(:fork)
      serve_quick
      talker = trained
      20.times { assert_equal([nil, "not"], call(talker, "split", false)) }
      _, fork = call(talker, "split", true)
      assert_kind_of(Integer, fork)
      10.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) } # at once, while the fork is where its parent was
      refute_predicate(talker, :heard?)
    ensure
      finish_off(fork) if fork.is_a?(Integer)
    end

    # The requests behind it are the parent's: each runs once.
    def test_a_fork_that_comes_back_runs_no_other_request
      skip("no fork here") unless Process.respond_to?(:fork)
      reader, writer = IO.pipe
      serve({ mark: -> { writer.write(".") }, split: ->(split) { split ? Process.fork.to_i : 0 } })
      talker = connect
      40.times { call(talker, "mark") && call(talker, "split", false) }
      talker.socket.write([[0, 0, "split", [true]], *Array.new(12) { |id| [0, id + 1, "mark", []] }].map(&:to_msgpack).join)
      answers = talker.hear_many(13)
      sleep(0.3)
      assert_equal(52, reader.read_nonblock(1_000).size)
    ensure
      finish_off(answers.find { |answer| answer[1].zero? }.last) if answers
      [reader, writer].compact.each(&:close)
    end

    def test_others_are_not_forgotten_while_one_asks_again_and_again
      serve_quick(idle_timeout: 5)
      silent = connect
      talker = trained
      assert_equal([nil, 3], call(talker, "add", 1, 2)) until silent.socket.wait_readable(0)
      assert_raises(EOFError) { silent.hear }
    end

    def test_a_peer_that_asks_again_and_again_is_told_that_the_server_stops
      quick = serve_quick
      talker = trained
      talker.request(100, "pause", true)
      20.times { assert_equal([nil, 3], call(talker, "add", 1, 2)) }
      @server.stop(within: 100)
      told = call(talker, "add", 1, 2).first until told
      assert_equal("ServerStoppingError: the server is stopping", told)
      quick.gate << "late"
      assert_equal([1, 100, nil, "late"], talker.hear)
    end

    # They are packed here, and not by the gem.
    def test_strings_of_every_size
      serve_quick
      talker = trained
      [0, 30, 32, 254, 256, 510, 512, 514, 65_534, 65_536, 65_538, 3_000_000].product([true, false]) do |size, binary|
        expected = [1, 5, nil, Batches::Quick.allocate.text(size, binary)].to_msgpack
        talker.request(5, "text", size, binary)
        assert_equal(expected, talker.socket.read(expected.bytesize), [size, binary])
      end
    end

    # What the socket does not take is held back until it is read.
    def test_more_large_answers_than_the_socket_takes
      serve_quick
      talker = trained
      20.times { call(talker, "large", 10) }
      talker.socket.write(Array.new(24) { |id| [0, id, "large", [1_000_000 + id]].to_msgpack }.join)
      sizes = talker.hear_many(24).to_h { |_, id, _, text| [id, text.bytesize] }
      assert_equal(Array.new(24) { |id| [id, 1_000_000 + id] }.to_h, sizes)
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    private

    def finish_off(pid)
      Process.kill(:KILL, pid)
      Process.wait(pid)
    rescue Errno::ECHILD, Errno::ESRCH
      nil # it is a grandchild
    end
  end
end
