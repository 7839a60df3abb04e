# frozen_string_literal: true

require "test_helper"
require "json"
require "net/http"
require "socket"
require "support/command_line"
require "plait/cli"
require "plait/cli/serve/consultation"

# `plait advise config.ru`.
class AdviseAppTest < Minitest::Test
  include Support::CommandLine

  Serve = Plait::CLI.const_get(:Serve)
  Requests = Serve.const_get(:Requests)
  Load = Serve.const_get(:Load)
  Row = Serve.const_get(:Row)
  AppAdvice = Serve.const_get(:AppAdvice)
  Findings = Serve.const_get(:Adviser)::Findings

  def self.runnable_methods = RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux") ? super : []

  def hard_timeout = 300

  def test_an_app_that_waits
    write("config.ru", "run ->(env) { sleep(0.05); [200, {}, [env['PATH_INFO']]] }\n")
    write("paths", "# the front page\n/\nHEAD /about?a=1\n")
    result = plait("advise", "config.ru", "--paths", "paths", "--budget", "8", "--json", "--rate", "20")
    assert_equal(0, result.code, result.err)
    told = JSON.parse(result.out)
    refute_equal([1, 1], told["row"].values_at("limit", "workers"), result.err)
    assert_operator(told["computes"], :<, 0.5)
    assert_equal(20, told["rate"])
    assert_match(/^  plait serve config\.ru --on \w+( --limit \d+)? --workers \d$/, result.err)
    assert_match(%r{^    GET /: 200$\n^    HEAD /about\?a=1: 200$}, result.err)
  end

  def test_puma_is_measured_where_its_gem_is_there
    skip("the gem puma is not installed: bin/setup test drivers") unless Serve.const_get(:PumaSubject).available?
    write("config.ru", "run ->(env) { sleep(0.02); [200, {}, [env['SERVER_SOFTWARE'].to_s]] }\n")
    result = plait("advise", "config.ru", "--budget", "10", "--json", "--concurrency", "4", "--rate", "20")
    assert_equal(0, result.code, result.err)
    rows = JSON.parse(result.out).values_at("rounds", "excluded").flatten
    assert_includes(rows.map { |row| row["on"] }, "puma", result.err)
    assert_empty(JSON.parse(result.out)["excluded"], result.err)
    subject = Serve.const_get(:PumaSubject).new(path("config.ru"), { limit: 2, workers: 2 }).start
    assert_match(/\Apuma /, Net::HTTP.get(URI("http://127.0.0.1:#{subject.port}/")))
  ensure
    subject&.stop
  end

  def test_a_condition_on_latencies
    write("config.ru", "run ->(env) { sleep(0.02); [200, {}, []] }\n")
    result = plait("advise", "config.ru", "--budget", "6", "--on", "fibers", "--fail-if", "p50>1ms", "--quiet")
    assert_equal(1, result.code, result.err)
    assert_match(/^plait: p50 .*--fail-if allows 1\.0 ms$/, result.err)
  end

  def test_an_app_that_fails
    write("config.ru", "run ->(env) { raise 'no database' }\n")
    assert_refused(%r{config\.ru: GET / answers 500 \(.*\), one request at a time: .*no database})
    write("config.ru", "raise 'no database'\n")
    assert_refused(/config\.ru can't be measured: .*config\.ru can't be loaded: no database \(RuntimeError\)/)
    write("config.ru", "exit\n")
    assert_refused(/config\.ru can't be measured: /)
  end

  def test_bad_input
    write("config.ru", "run ->(env) { [200, {}, []] }\n")
    write("paths", "/\nusers\n")
    write("empty", "# nothing\n")
    { %w[--paths paths] => /--paths paths:2: a line is as .*not "users"/, %w[--paths empty] => /--paths empty has no path in it/,
      %w[--log none] => /--log none can't be read: No such file/, %w[--log paths] => /--log paths has no GET or HEAD in it/,
      %w[--paths paths --log empty] => /name one of them/, %w[--once] => /--once: a config\.ru is served/,
      %w[--goal latency] => /--goal latency: a config\.ru is advised for throughput/,
      %w[--on processes] => /a server runs on threads, fibers or hybrid/, %w[--header x] => /--header x: must be as in/,
      %w[--concurrency 0] => /--concurrency 0: must be 1 or more/, %w[--rate 0] => /--rate 0: must be more than 0/ }
      .each { |options, words| assert_refused(words, *options) { |*arguments| plait_in_a_fork(*arguments) } }
    assert_match(/there is no file none\.ru: name the config\.ru/, plait("advise", "none.ru").err)
  end

  def test_ctrl_c_tells_what_was_learned_and_leaves_nothing
    write("config.ru", "File.write(\"pid\#{Process.pid}\", '')\nrun ->(env) { sleep(0.01); [200, {}, []] }\n")
    result = plait_running("advise", "config.ru", "--budget", "60") do |pid, _, err|
      wait_until(timeout: 60) { File.read(err).include?("rows in one worker") }
      Process.kill(:INT, pid)
    end
    assert_equal(130, result.code, result.err)
    assert_match(/\Ano answer: interrupted\nWhy: a request takes /, result.out)
    assert_ended
  end

  def test_a_kill_leaves_no_server
    write("config.ru", "File.write(\"pid\#{Process.pid}\", '')\nrun ->(env) { [200, {}, []] }\n")
    plait_running("advise", "config.ru", "--budget", "60") do |pid, _, err|
      wait_until(timeout: 60) { File.read(err).include?("rows in one worker") }
      Process.kill(:KILL, pid)
    end
    assert_ended
  end

  def test_paths_of_a_log
    write("log", <<~LOG)
      127.0.0.1 - - [22/Nov/2026:10:00:00 +0000] "GET /users?page=2 HTTP/1.1" 200 12
      127.0.0.1 - - [22/Nov/2026:10:00:00 +0000] "POST /users HTTP/1.1" 201 0 "-" "curl"
      {"method":"HEAD","path":"/about","query":"","status":200}
      {"method":"GET","path":"/about","query":"a=1","status":200}
      {"method":"GET"}
      \xFF garbage
    LOG
    assert_equal([%w[GET /users?page=2], %w[HEAD /about], %w[GET /about?a=1]], Requests.read(log: path("log")))
  end

  # One client at 50 requests a second, which an origin of 100 ms can't answer: each request waits for all before it.
  def test_a_latency_counts_from_the_time_at_which_the_request_was_due
    with_origin(0.1) do |port|
      result = Load.new(port, [%w[GET /]]).at_rate(50, 1, 0.2)
      assert_equal(10, result.count)
      assert_operator(result.latencies.max, :>, (0.1 * 10) - 0.2)
    end
  end

  def test_what_goes_wrong_is_counted
    with_origin(0, "500 Sorry") do |port|
      assert_match(%r{\AGET /a answers 500 \(\d+ of \d+\)\z}, Load.new(port, [%w[GET /a]]).closed(2, 0.05).failure)
    end
    server = TCPServer.new("127.0.0.1", 0)
    port = server.local_address.ip_port
    server.close
    assert_match(%r{\AGET / has no answer: .*refused}, Load.new(port, [%w[GET /]]).closed(1, 0.01).failure)
  end

  def test_words
    slow, fast = Row.new(:threads, 1, 1), Row.new(:threads, 5, 2)
    found = Findings.new(series: { slow => [0.01] * 12, fast => [0.0025] * 12 }, scanned: { slow => 0.01 },
                         wall: 0.01, held: 0.002, rate: 280, latencies: { fast => [0.02] * 100 }, memory: { fast => 50 << 20 },
                         excluded: { Row.new(:fibers, nil, 1) => "GET / answers 500" })
    assert_equal(<<~TEXT.chomp, AppAdvice.new(found, "config.ru").to_s)
      use 5 threads a worker, 2 workers: 100 requests/s → 400 requests/s, 4.00 × (4.00 to 4.00)
        plait serve config.ru --on threads --limit 5 --workers 2
      Why: a request takes 10.0 ms alone; it computes 20 % of that time and waits 80 %.
      Latency: at 280 requests/s p50 20.0 ms, p99 20.0 ms, 50 MB.
      How sure: clear, after 12 rounds.
      Not: fibers: GET / answers 500.
      With Puma: threads 5, 5; workers 2.
    TEXT
  end

  def test_words_of_puma
    row = Row.new(:puma, 5, 2)
    assert_equal(["Puma, 5 threads a worker, 2 workers", "puma --threads 5:5 --workers 2 config.ru"],
                 [row.to_s, row.command("config.ru")])
    assert_equal("Puma, 1 thread", Row.new(:puma, 1, 1).to_s)
  end

  # Each one has copies of the pipes by which the earlier ones are ended.
  def test_servers_side_by_side_end_at_once
    write("config.ru", "run ->(env) { [200, {}, []] }\n")
    subjects = Array.new(3) { Serve.const_get(:Subject).new(path("config.ru"), { workers: 1 }).start }
    began = Plait::Deadline.now
    subjects.each(&:stop)
    assert_operator(Plait::Deadline.now - began, :<, 19) # two that wait for each other take 20
  end

  private

  def assert_refused(words, *options)
    arguments = ["advise", "config.ru", "--budget", "3", *options]
    result = block_given? ? yield(*arguments) : plait(*arguments)
    assert_equal(2, result.code, result.err)
    assert_match(/^plait: .*#{words}/, result.err)
  end

  def assert_ended
    pids = Dir.children(folder).filter_map { |name| name[/\Apid(\d+)\z/, 1]&.to_i }
    refute_empty(pids)
    wait_until(timeout: 30) { pids.none? { |pid| running?(pid) } }
  end

  # A zombie has no command line.
  def running?(pid)
    File.read("/proc/#{pid}/cmdline").match?(/./)
  rescue SystemCallError
    false
  end

  def with_origin(seconds, status = "200 OK")
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { serve(server.accept, seconds, status) } }
    yield server.local_address.ip_port
  ensure
    thread&.kill&.join
    server&.close
  end

  def serve(socket, seconds, status)
    Thread.new do
      while socket.gets("\r\n\r\n")
        sleep(seconds)
        socket.write("HTTP/1.1 #{status}\r\ncontent-length: 0\r\n\r\n")
      end
    ensure
      socket.close
    end
  end
end
