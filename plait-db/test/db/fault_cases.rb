# frozen_string_literal: true

require "support/fresh_ruby"
require "support/mariadb_server"
require "support/postgres_server"
require "plait/db"

# What goes wrong with servers, and what each bridge makes of it: the right error, a pool that heals by itself, nothing
# answered to the wrong caller, no transaction half done. A test says how its server writes things.
module FaultCases
  # Each case on threads and in fibers.
  def self.included(test)
    instance_methods.grep(/\Acase_/).product(%i[threads fibers]) do |name, on|
      test.define_method("#{name.to_s.sub("case_", "test_")}_on_#{on}") { send(name, on) }
    end
  end

  def setup
    require gem
  rescue LoadError
    skip("the gem #{gem} is not installed: bin/setup test drivers")
  end

  def teardown
    @db&.close
    super
  end

  def case_a_server_that_is_killed(on)
    server_class.start do |server|
      with_database(server) do |db|
        fill(db)
        server.restart(:KILL) do
          wait_until { attempt { db.query("SELECT 1") }.is_a?(driver_error) } # it may have children that end later
          errors = Plait.map(1..6, on: on, on_error: :collect) { db.query("SELECT 1") }.map(&:error)
          errors.each { |error| assert_kind_of(driver_error, error) }
        end
        assert_equal([1] * 20, Plait.map(1..20, on: on, limit: 8) { Integer(db.query("SELECT 1").value) })
        assert_equal([0, 0], db.statistics.values_at(:busy, :waiting))
      end
    end
  end

  def case_a_server_that_dies_in_the_middle_of_transactions(on)
    server_class.start do |server|
      with_database(server) do |db|
        fill(db)
        outcomes = Plait.run(on: on) do |scope|
          tasks = Array.new(4) { |n| scope.async { attempt { transfer(db, n) } } }
          wait_until { db.statistics[:busy] == 4 }
          sleep(0.1) # well into the statement that takes its time
          server.kill
          tasks.map(&:value)
        end
        outcomes.each { |outcome| assert_kind_of(driver_error, outcome) }
        server.restart
        assert_equal(0, Integer(db.query("SELECT COUNT(*) FROM moves").value))
      end
    end
  end

  def case_a_server_that_is_paused(on)
    server = server_class.shared
    with_database(server) do |db|
      fill(db)
      pausing(server) do
        assert_raises(Plait::TimeoutError) { run_on(on) { Plait.timeout(0.3) { db.query("SELECT 1") } } }
      end
      values = Plait.map(1..10, on: on) { |n| Integer(db.query("SELECT #{n}").value) }
      assert_equal((1..10).to_a, values)
    end
  end

  class Late < StandardError; end

  # The check of the connection is what waits there.
  def case_a_time_of_the_callers_on_a_server_that_is_paused(on)
    server = server_class.shared
    with_database(server) do |db|
      fill(db)
      pausing(server) do
        assert_raises(Late) { run_on(on) { Timeout.timeout(0.3, Late) { db.query("SELECT 1") } } }
      end
      assert_equal(0, db.statistics[:busy])
    end
  end

  def case_a_deadlock(on)
    with_database(server_class.shared) do |db|
      fill(db)
      outcomes = run_on(on) { cross(db, on) }
      lost, done = outcomes.partition { |outcome| outcome.is_a?(StandardError) }
      assert_equal([1, 1], [lost.size, done.size], lost.inspect)
      assert_match(/deadlock/i, lost.first.message)
      # Only the one that was committed has left anything.
      assert_equal(done, db.query("SELECT n FROM moves ORDER BY n").rows.flatten.map { |n| Integer(n) })
    end
  end

  def case_a_deadlock_that_is_rescued(on)
    with_database(server_class.shared) do |db|
      fill(db)
      outcomes = run_on(on) { cross(db, on) { |tx, n| tx.query("INSERT INTO moves VALUES (#{n + 10})") } }
      lost = outcomes.grep(StandardError)
      assert_equal(1, lost.size)
      moves = db.query("SELECT n FROM moves ORDER BY n").rows.flatten.map { |n| Integer(n) }
      assert_equal(outcomes.grep(Integer).flat_map { |n| [n, n + 10] }, moves)
    end
  end

  # The connection ends before COMMIT has an answer.
  def case_a_connection_that_ends_at_commit(on)
    with_database(server_class.shared) do |db|
      fill(db)
      run_on(on) do
        error = assert_raises(Plait::DB::CommitUnknown) do
          db.transaction do |tx|
            tx.query("INSERT INTO moves VALUES (1)")
            end_connection(tx.query(connection_id).value)
          end
        end
        assert_kind_of(driver_error, error.cause)
      end
    end
  end

  def end_connection(id)
    with_database(server_class.shared) do |other|
      other.query(ending(id))
      wait_until { Integer(other.query(counting(id)).value).zero? }
    end
  end

  # A timeout as a connection is made, in the middle of a statement, or as either ends.
  def case_timeouts_leave_no_connection_behind(on)
    with_database(server_class.shared) do |watcher|
      before = Integer(watcher.query(connections).value)
      sockets = count_sockets
      with_database(server_class.shared) do |db|
        random = Random.new(16)
        Plait.map(1..300, on: on, limit: 12, on_error: :collect) do
          Plait.timeout(random.rand(0.001..0.02)) { db.query(sleeping(0.002)) }
        end
        wait_until { db.statistics.values_at(:busy, :closing) == [0, 0] }
        wait_until { Plait::DB.const_get(:DetachedCall).threads.count.zero? && count_sockets <= sockets + 8 } # mysql2 has two
        wait_until { Integer(watcher.query(connections).value) <= before + 4 }
      end
      wait_until { Integer(watcher.query(connections).value) <= before }
    end
  end

  def count_sockets
    Dir["/proc/self/fd/*"].count do |path|
      File.readlink(path).start_with?("socket:")
    rescue SystemCallError
      false
    end
  end

  # It would wait for a server that does not answer; its connection has its place until the server is told, or can't be.
  def case_a_timeout_on_a_server_that_is_paused_does_not_wait_for_it(on)
    server = server_class.shared
    with_database(server) do |db|
      db.query("SELECT 1")
      patiently do
        pausing(server) do
          assert_raises(Plait::TimeoutError) { run_on(on) { Plait.timeout(0.3) { db.query("SELECT 2") } } }
          assert_equal([0, 0, 1], db.statistics.values_at(:busy, :idle, :closing))
        end
        wait_until { db.statistics[:closing].zero? }
      end
      assert_equal(3, Integer(db.query("SELECT 3").value))
    end
  end

  def case_a_query_that_is_killed(on)
    with_database(server_class.shared) do |db|
      fill(db)
      run_on(on) do
        Plait.run(on: on) do |scope|
          victim = scope.async { attempt { db.transaction { |tx| insert_and_sleep(tx) } } }
          wait_until(timeout: 20) { kill_sleeper(db) }
          assert_kind_of(driver_error, victim.value)
        end
      end
      assert_equal(0, Integer(db.query("SELECT COUNT(*) FROM moves").value))
    end
  end

  def test_a_server_that_takes_no_more_connections
    with_database(server_class.shared) do |db|
      assert_equal(1, Integer(db.query("SELECT 1").value))
      hold_all_connections do
        assert_kind_of(driver_error, attempt { Thread.new { attempt { other_user(&:itself) } }.value })
        assert_equal(1, Integer(db.query("SELECT 1").value))
      end
    end
  end

  FORK = <<~RUBY
    require "plait"
    Plait::DB.connect(ARGV[0], size: 4) do |db|
      id = -> { Integer(db.query(ARGV[1]).value) }
      mine = id.call
      Process.wait(fork { nil }) # it uses nothing, and ends
      pids = Array.new(3) { fork { print((id.call != mine && 20.times.map { id.call }.uniq.size == 1) ? "own " : "shared ") } }
      same = 50.times.map { id.call }.uniq == [mine]
      pids.each { |pid| Process.wait(pid) }
      same &&= id.call == mine
      puts(same ? "kept" : "lost")
    end
  RUBY

  def test_a_fork_with_open_connections
    result = Support::FreshRuby.run(FORK, url(server_class.shared), connection_id)
    assert_equal("own own own kept\n", result.out, result.err)
  end

  FORK_WITHIN = <<~RUBY
    require "plait"
    Plait::DB.connect(ARGV[0], size: 1) do |db|
      db.query("DROP TABLE IF EXISTS moves")
      db.query("CREATE TABLE moves (n INTEGER PRIMARY KEY)")
      db.transaction do |tx|
        tx.query("INSERT INTO moves VALUES (1)")
        pid = fork do
          2.times { tx.query("INSERT INTO moves VALUES (2)") }
        rescue Plait::DB::RolledBack => e
          print(e.message[/it is the parent's/], " ", db.query("SELECT COUNT(*) FROM moves").value, " ")
        end
        Process.wait(pid)
        tx.query("INSERT INTO moves VALUES (3)")
      end
      puts db.query("SELECT n FROM moves ORDER BY n").rows.inspect
    end
  RUBY

  def test_a_fork_in_the_middle_of_a_transaction
    result = Support::FreshRuby.run(FORK_WITHIN, url(server_class.shared))
    assert_match(/\Ait is the parent's (0 )?\[\[1\], \[3\]\]\n\z/, result.out, result.err)
  end

  private

  # What a test says:
  def gem = raise(NotImplementedError)
  def server_class = raise(NotImplementedError)
  def driver_error = raise(NotImplementedError)
  def url(_server) = raise(NotImplementedError)
  def connection_id = raise(NotImplementedError)
  def sleeping(_seconds) = raise(NotImplementedError)
  def kill_sleeper(_database) = raise(NotImplementedError)
  def connections = raise(NotImplementedError)
  def ending(_id) = raise(NotImplementedError)
  def counting(_id) = raise(NotImplementedError)

  def with_database(server, &block) = Plait::DB.connect(url(server), size: 4, timeout: 20, check_after: 0, &block)

  def fill(db)
    %w[moves accounts].each { |name| db.query("DROP TABLE IF EXISTS #{name}") }
    db.query("CREATE TABLE moves (n INTEGER PRIMARY KEY)")
    db.query("CREATE TABLE accounts (id INTEGER PRIMARY KEY, amount INTEGER)")
    db.query("INSERT INTO accounts VALUES (1, 100), (2, 100)")
  end

  def transfer(db, number)
    db.transaction do |tx|
      tx.query("INSERT INTO moves VALUES (#{number})")
      tx.query(sleeping(30))
    end
  end

  def insert_and_sleep(tx)
    tx.query("INSERT INTO moves VALUES (1)")
    tx.query(sleeping(31))
  end

  # @return [Object] what the block returns, or its error
  def attempt
    yield
  rescue StandardError => e
    e
  end

  # Gives the end of a cut connection 30 s: a busy machine exceeds the usual 1 or 2 s.
  def patiently
    postgres = gem == "pg"
    holder, name = postgres ? %i[Postgres CANCEL_TIMEOUT] : %i[Mysql HASTE]
    holder = Plait::DB.const_get(holder)
    usual = holder.send(:remove_const, name)
    holder.const_set(name, postgres ? 30 : { connect_timeout: 30, read_timeout: 30 })
    yield
  ensure
    holder.send(:remove_const, name)
    holder.const_set(name, usual)
  end

  def run_on(on, &block) = Plait.run(on: on) { block.call }

  # Two transactions that want the same two rows in opposite orders.
  # @yield in the one that has lost, which goes on nevertheless
  # @return [Array<Integer, StandardError>]
  def cross(db, on, &go_on)
    ready = Queue.new
    Plait.map([[1, 2], [2, 1]], on: on, limit: 2) do |first, second|
      attempt { cross_one(db, first, second, ready, &go_on) }
    end
  end

  def cross_one(db, first, second, ready)
    db.transaction do |tx|
      tx.query("INSERT INTO moves VALUES (#{first})")
      tx.query("UPDATE accounts SET amount = amount - 1 WHERE id = #{first}")
      ready << true
      wait_until { ready.size == 2 }
      begin
        tx.query("UPDATE accounts SET amount = amount + 1 WHERE id = #{second}")
      rescue driver_error
        raise unless block_given?
      end
      yield(tx, first) if block_given?
      first
    end
  end

  # With its children (PostgreSQL has one for each connection), and not before each of them really stands still.
  def pausing(server)
    skip("needs /proc to know the processes of the server") unless File.directory?("/proc/self")
    family = []
    wait_until do # some may have begun meanwhile; and one that has ended waits for its parent, which stands still
      states = family(server.pid)
      family |= stop(states.keys)
      states.values.all? { |state| %w[T Z].include?(state) }
    end
    yield
  ensure
    family&.each do |pid|
      Process.kill(:CONT, pid)
    rescue Errno::ESRCH
      nil # a connection's, which has ended
    end
  end

  # @return [Array<Integer>] those that are there
  def stop(pids)
    pids.select do |pid|
      Process.kill(:STOP, pid)
    rescue Errno::ESRCH
      false
    end
  end

  # @return [Hash{Integer => String}] the state of each process
  def family(parent)
    Dir["/proc/[0-9]*/stat"].filter_map do |path|
      state, its_parent = File.read(path)[/(?<=\) ).*/].split
      pid = path[/\d+/].to_i
      [pid, state] if [pid, its_parent.to_i].include?(parent)
    rescue SystemCallError
      nil
    end.to_h
  end
end
