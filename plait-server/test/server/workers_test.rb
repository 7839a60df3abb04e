# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "timeout"
require "tmpdir"
require_relative "caller"

class ServerWorkersTest < Minitest::Test
  # Seconds between the requests of a client: the processes that are replaced need the processor, too.
  PAUSE = 0.005

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

  def test_what_the_app_writes_to_a_file_that_was_open_before
    Dir.mktmpdir do |folder|
      @log = File.open("#{folder}/log", "a")
      pids = nil
      serving(:threads) { |server| pids = seen(server, 2) }
      @log.close

      assert_empty(pids - File.readlines("#{folder}/log").map(&:to_i))
    end
  end

  def test_what_was_begun_is_answered
    serving(:threads, within: 100) do |server|
      caller = connect(server).send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { File.exist?("#{@folder}/begun") }
      server.stop(within: 100)
      File.write("#{@folder}/go", "")
      assert_match(/\A\d+\z/, caller.hear.body)
      caller.close
    end
  end

  def test_a_second_stop_ends_at_once
    serving(:threads) do |server|
      caller = connect(server).send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { File.exist?("#{@folder}/begun") }
      server.stop(within: 100)
      server.stop(within: 0)
      assert_empty(caller.rest)
      caller.close
    end
  end

  %i[threads fibers].each do |mechanism|
    define_method(:"test_all_are_replaced_without_a_failed_request_on_#{mechanism}") do
      serving(mechanism) do |server|
        before = seen(server, 2)
        load = Array.new(4) { |index| Thread.new { load(server, anew: index.odd?) } }
        2.times do
          server.restart
          wait_until(timeout: 60) { replaced?(server, before) }
          before = seen(server, 2)
        end
        @over = true
        load.each(&:value)
      end
    end
  end

  def test_one_that_is_too_large_is_replaced
    serving(:threads, plan: { memory: 150 << 20 }) do |server|
      before = seen(server, 2)
      large = Integer(connect(server).get("/grow").body)
      wait_until(timeout: 60) { (now = seen(server, 2)) && !now.include?(large) && now.intersect?(before) }
    end
    sentence = /\Aworker \d \(pid \d+\) is replaced: it has grown to \d+ MB, and 150 are allowed\z/
    assert(@notices.any? { |line| line.match?(sentence) })
  end

  # As by a call that never comes back and keeps Ruby's lock.
  def test_one_that_says_nothing_is_told_and_replaced
    serving(:threads, plan: { silence: 12 }) do |server|
      before = seen(server, 2)
      Process.kill(:STOP, before.first)
      wait_until(timeout: 100) { @notices.size == 2 }
      wait_until(timeout: 60) { seen(server, 2) - before != [] }
    end
    assert_match(/\Aworker \d \(pid \d+\) has said nothing for 10 s: it is stopped, or something in it keeps/, @notices[0])
    assert_match(/has died after \d+ s: it had said nothing for \d+ s \(worker_timeout\); another one takes/, @notices[1])
  end

  %i[fibers hybrid].each do |mechanism|
    ["/loop", "/timeout"].each do |path|
      define_method("test_a_worker_on_#{mechanism}_that_#{path.delete("/")}_keeps_from_its_loop_is_replaced") do
        with_time_for_reports do |silence|
          serving(mechanism, workers: 1, plan: { silence: silence, grace: 0.5 }) do |server|
            first = seen(server, 1)
            caller = connect(server).send("GET #{path}/7 HTTP/1.1\r\nHost: a\r\n\r\n")
            wait_until(timeout: 60 + (4 * silence)) { given_up || killed? }
            wait_until(timeout: 60) { caller.closed_by_peer? }
            caller.close
            refute_equal(first, seen(server, 1))
          end
        end
        told = given_up
        assert_match(%r{\Aworker 0 \(pid \d+\) is given up, and killed in 0.5 s \(worker_timeout\): GET #{path}/7 has}, told)
        assert_match(/^\t.*#{__FILE__}:\d+:in .*endless/, told)
      end
    end
  end

  # Which runs on the thread pool.
  def test_what_was_begun_beside_a_loop_that_stands_still_can_end
    with_time_for_reports do |silence|
      serving(:hybrid, workers: 1, plan: { silence: silence, grace: 600 }) do |server|
        slow = connect(server)
        wait_until(timeout: 60) { slow.get("/compute").fields["x-loop"] == "false" }
        slow.send("GET /compute/slow HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(timeout: 60) { File.exist?("#{@folder}/begun") }
        endless = connect(server).send("GET /loop HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(timeout: 60 + (4 * silence)) { given_up || killed? }
        File.write("#{@folder}/go", "")
        see_the_end_of(slow, server) if given_up
        [slow, endless].each(&:close)
      end
    end
  end

  # How the pause grows: see the tests of a slot.
  def test_why_one_has_died_is_told
    serving(:threads, workers: 1) do |server|
      2.times do |times|
        connect(server).get("/exit") rescue EOFError # rubocop:disable Style/RescueModifier -- that is what is wanted
        wait_until(timeout: 60) { @notices.size == times + 1 }
        seen(server, 1)
      end
    end
    sentence = /\Aworker 0 \(pid \d+\) has died after \d+ s: exit status 3; another one takes its place(?: in 1 s)?\z/
    @notices.each { |notice| assert_match(sentence, notice) }
  end

  def test_hooks
    serving(:fibers, plan: hooks) do |server|
      seen(server, 2)
      assert_equal(["before fork #{Process.pid}"], told("before fork"))
      wait_until { told("boot").size == 2 }
      assert_equal(%w[0 1], told("boot").map { |line| line.split.last }.sort)
      server.stop(within: 60)
    end
    assert_equal(2, told("shutdown").size)
  end

  def test_none_can_be_begun
    plan = { on_boot: [->(_) { raise "no database" }] }
    server = Plait::Server.new(->(_) {}, workers: 2, bind: "tcp://127.0.0.1:0", plan: plan)
    _, complaints = capture_subprocess_io do
      error = assert_raises(Plait::WorkerDied) { server.run }
      assert_equal("RuntimeError: no database", error.message)
    end
    assert_match(/worker \d \(pid \d+\): .*no database/, complaints)
  end

  def test_what_they_have_counted_stays_when_they_end
    serving(:threads) do |server|
      pids = seen(server, 2)
      before = wait_until { (count = server.statistics.fetch(:requests, 0)) >= 2 && count }
      server.restart
      wait_until(timeout: 60) { replaced?(server, pids) }
      wait_until { server.statistics.fetch(:requests) > before }
    end
  end

  def test_without_workers_nothing_can_be_replaced
    error = assert_raises(Plait::UsageError) { Plait::Server.new(->(_) {}).restart }
    assert_match(/workers:/, error.message)
  end

  private

  def serving(mechanism, within: 5, workers: 2, plan: {})
    @notices = []
    Dir.mktmpdir do |folder|
      @folder = folder
      server = Plait::Server.new(app(folder), on: mechanism, workers: workers, bind: "tcp://127.0.0.1:0",
                                              plan: { notice: ->(line) { @notices << line }, grace: 30, **plan })
      thread = server.start
      yield server
    ensure
      server&.stop(within: within)
      assert(thread.join(120), "it goes on")
      @written = File.exist?("#{folder}/told") ? File.readlines("#{folder}/told", chomp: true) : []
    end
  end

  # A worker that gets too little of the processor reports late, and is killed as silent: then it gets more time.
  # @yieldparam silence [Integer] seconds
  def with_time_for_reports
    enough = [3, 12, 48].find do |silence|
      yield silence
      given_up
    end
    assert(enough, "no worker was given up: #{@notices&.inspect}")
  end

  def given_up = @notices.find { |line| line.include?("is given up") }

  def killed? = @notices.any? { |line| line.include?("it had said nothing for") }

  def see_the_end_of(slow, server)
    pid = Integer(slow.hear.body)
    Process.kill(:KILL, pid)
    refute_equal([pid], seen(server, 1))
  end

  def hooks
    { before_fork: [-> { tell("before fork #{Process.pid}") }], on_boot: [->(index) { tell("boot #{index}") }],
      on_shutdown: [->(index) { tell("shutdown #{index}") }] }
  end

  def tell(line) = File.write("#{@folder}/told", "#{line}\n", mode: "a")

  def told(what)
    lines = @written || File.readlines("#{@folder}/told", chomp: true)
    lines.grep(/\A#{what}/)
  end

  # Asks all the time, a dozen times at least, on one connection as long as that lasts, or each time on another one.
  # @return [void] any failure is raised
  def load(server, anew:)
    count = 0
    until @over && count >= 12
      caller ||= connect(server)
      answer = caller.get
      assert_equal(200, answer.status)
      count += 1
      sleep(PAUSE)
      caller = caller.close if anew || answer.fields["connection"] == "close"
    end
  ensure
    caller&.close
  end

  def replaced?(server, before)
    caller = connect(server)
    now = Integer(caller.get.body)
    caller.close
    @now = before.include?(now) ? [] : [*@now, now].uniq
    @now.size == before.size
  end

  def app(folder)
    lambda do |env|
      if env["PATH_INFO"] == "/slow"
        File.write("#{folder}/begun", "")
        sleep(0.01) until File.exist?("#{folder}/go")
      end
      exit!(3) if env["PATH_INFO"] == "/exit"
      @log&.puts(Process.pid)
      keep_loop(env["PATH_INFO"], folder)
      @grown = "x" * (200 << 20) if env["PATH_INFO"] == "/grow"
      [200, { "x-loop" => (!Fiber.current_scheduler.nil?).to_s }, [Process.pid.to_s]]
    end
  end

  def keep_loop(path, folder)
    endless if path.start_with?("/loop")
    Timeout.timeout(0.1) { endless } if path.start_with?("/timeout")
    return unless path.start_with?("/compute")

    till = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) + 0.03
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) < till
    return unless path.end_with?("/slow")

    File.write("#{folder}/begun", "")
    sleep(0.01) until File.exist?("#{folder}/go")
  end

  def endless
    loop {} # rubocop:disable Lint/EmptyBlock
  end

  def connect(server) = Caller.new(TCPSocket.new("127.0.0.1", server.endpoints.first.port))

  # @return [Array<Integer>] so many processes that answer
  def seen(server, count)
    pids = []
    wait_until(timeout: 60) do
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
