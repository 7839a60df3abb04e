# frozen_string_literal: true

module ReactorCases
  # Forks and garbage.
  module Memory
    def test_the_child_of_a_fork_has_its_own
      skip("no fork here") unless Process.respond_to?(:fork)
      pairs = watched(2)
      in_child do
        raise "not empty" unless [@reactor.size, wait(0)] == [0, []]

        ours, theirs = UNIXSocket.pair
        @reactor.add(ours, :childs)
        @reactor.remove(pairs[0].first)
        theirs.write("x")
        raise "not its own" unless wait == [:childs]

        @reactor.close
      end
      write_to(pairs)
      assert_equal([0, 1], told.sort)
    end

    def in_child
      pid = fork do
        yield
        exit!(0)
      rescue Exception => e
        warn(e.full_message)
        exit!(1)
      end
      assert_predicate(Process.wait2(pid).last, :success?)
    end

    def test_tokens_live_as_long_as_they_are_in_it
      ours, theirs = pair
      @reactor.add(ours, "token #{ours.fileno}")
      GC.start
      Array.new(1_000) { "another #{_1}" }
      theirs.write("x")
      assert_equal(["token #{ours.fileno}"], wait)
    end

    def test_under_gc_stress_and_compaction
      skip("no compaction here") unless GC.respond_to?(:compact)
      pairs = watched_by_name(20)
      GC.compact
      GC.stress = true
      write_to(pairs)
      names = told.map { |token| token[/\d+/].to_i }
      GC.stress = false
      assert_equal([*0...20], names.sort)
      GC.compact
      pairs.each { |pair| @reactor.rearm(pair.first) }
      assert_equal(20, @reactor.expire(0, now).grep(/connection/).size)
    ensure
      GC.stress = false
    end

    def watched_by_name(count)
      Array.new(count) { |number| pair.tap { |ours, _| @reactor.add(ours, "connection #{number}") } }
    end

    def test_leaves_nothing_behind
      assert_no_leaks do
        5.times do
          reactor = reactor_class.new
          ours, theirs = UNIXSocket.pair
          reactor.add(ours, ours)
          theirs.write("x")
          reactor.wait
          [reactor, ours, theirs].each(&:close)
        end
      end
    end
  end
end
