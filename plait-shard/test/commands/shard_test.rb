# frozen_string_literal: true

require "json"
require_relative "../shard/proxy/nodes"
require "plait/cli"
require "support/command_line"

class ShardCommandTest < Minitest::Test
  include Support::CommandLine
  include ShardNodes

  # A test that moves keys leaves word of that on the nodes.
  def setup
    super
    nodes.each { |server| call(server.port, "FLUSHALL") }
  end

  def test_before_servers_that_are_there
    listening("shard", "--nodes", addresses.join(","), "--listen", "127.0.0.1:0", "--threads", "2") do |port, _pid|
      assert_equal("+OK\r\n", call(port, "MSET", "a", "1", "b", "2", "c", "3"))
      assert_equal("*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n", call(port, "MGET", "a", "b", "c"))
    end
  end

  def test_before_servers_of_which_one_is_not_there
    silent = "127.0.0.1:#{CLOSED}"
    listening("shard", "--nodes", "#{addresses.first},#{silent}", "--listen", "127.0.0.1:0") do |_port, _pid, err|
      wait_until { File.read(err).include?("#{silent} does not answer; commands for it fail until it does\n") }
      refute_includes(File.read(err), "#{addresses.first} does")
    end
  end

  # Nobody asks it anything meanwhile.
  def test_a_node_that_goes_and_comes_back_is_told_of_though_it_is_quiet
    server = Support::RedisServer.start
    both = "#{addresses.first},127.0.0.1:#{server.port}"
    listening("shard", "--nodes", both, "--listen", "127.0.0.1:0", "--quiet") do |port, _, err|
      call(port, "MSET", *Array.new(20) { |i| ["k#{i}", "v"] }.flatten)
      server.restart(:KILL) do
        wait_until { File.read(err) == "127.0.0.1:#{server.port} does not answer; commands for it fail until it does\n" }
      end
      wait_until { File.read(err).lines.last == "127.0.0.1:#{server.port} answers again\n" }
      assert_equal(2, File.read(err).lines.size)
    end
  ensure
    server&.stop
  end

  def test_a_file
    write("shard.yml", "nodes: [#{addresses.join(", ")}]\nlisten: 127.0.0.1:1\nplacement: cluster\ntimeout: 3\n")
    listening("shard", "--config", "shard.yml", "--listen", "127.0.0.1:0") do |port, _pid|
      assert_equal("+OK\r\n", call(port, "MSET", "{a}1", "1", "{a}2", "2"))
      assert_equal(":1\r\n", call(port, "MSETNX", "{b}1", "1", "{b}2", "2").then { call(port, "EXISTS", "{b}2") })
    end
  end

  # By the rule's own tag, that behind the first brace, some of these would be on several nodes.
  def test_a_rule_for_tags
    rule = %w[--placement redis_sharding_perl --tag last_brace]
    listening("shard", "--nodes", addresses.join(","), "--listen", "127.0.0.1:0", *rule) do |port, _pid|
      20.times { |i| assert_equal("*0\r\n", call(port, "SINTER", "a{x{#{i}}", "b{y{#{i}}", "c{z{#{i}}")) }
    end
  end

  def test_wrong_files
    write("list.yml", "- a\n")
    write("none.yml", "a: [\n")
    write("odd.yml", "nodes: [a:1]\ntimeouts: 5\n")
    write("number.yml", "nodes: 5\n")
    write("empty.yml", "nodes: [a:1]\npassword:\n")
    write("inside.yml", "nodes: [a:1]\ninherited: 1\n")
    write("group.yml", "nodes: [{5: a:1}]\n")
    write("drain.yml", "nodes: [a:1]\ndrain: soon\n")
    write("reshard.yml", "nodes: [a:1]\nreshard: 1\n")
    wrong = {
      "nowhere.yml" => /can't read nowhere.yml: No such file/, "list.yml" => /must be options with values/,
      "none.yml" => /is not YAML/, "odd.yml" => /odd.yml: no option timeouts; there are listen, threads, .*, drain, reshard$/,
      "number.yml" => /nodes: are a list/,
      "empty.yml" => /empty.yml: password: has no value/, "inside.yml" => /inside.yml: no option inherited/,
      "group.yml" => /is not of the form {master:/, "drain.yml" => /drain: is seconds/,
      "reshard.yml" => /reshard: is true or false/
    }
    wrong.each do |file, message|
      result = plait("shard", "--config", file)
      assert_equal([2, 1], [result.code, result.err.scan(message).size], result.err)
    end
  end

  def test_it_ends_well_by_sigterm_and_says_what_it_has_done
    result = listening("shard", "--nodes", addresses.first, "--listen", "127.0.0.1:0", signal: :TERM) do |port, _pid, err|
      converse(port) { |redis| redis.pipeline([%w[PING], %w[NONSENSE]]) }
      # A line may come between the connection and its commands, and a late line has fewer of them a second.
      wait_until { File.read(err).include?(" 1 errors, ") }
    end
    assert_equal(0, result.code, result.err)
    assert_match(/^1 clients were served with 2 commands; 1 were answered with an error of the proxy$/, result.out)
    assert_match(%r{^\d clients, [12] commands/s, 0.0 MB/s in, 0.0 MB/s out, 1 errors, 0 failures of nodes$}, result.err)
  end

  def test_sighup_reads_the_file_again_and_sigterm_lets_clients_end
    write("shard.yml", "nodes: [#{addresses.first}]\nmetrics: 127.0.0.1:0\n")
    result = listening("shard", "--config", "shard.yml", "--listen", "127.0.0.1:0", signal: :TERM) do |port, pid, err|
      File.write(File.join(@folder, "shard.yml"), "nodes: [a\n")
      reload(pid, err, /^not reloaded: shard.yml is not YAML/)
      write("shard.yml", "nodes: [#{addresses.join(", ")}]\nplacement: cluster\n")
      reload(pid, err, /^reloaded for (127.0.0.1:\d+, ){3}127.0.0.1:\d+; clients are asked to reconnect/)
      assert_equal(["metrics"], File.read(err).scan(/^not changed before a restart: (.*)$/).flatten)
      assert_equal("+OK\r\n", call(port, "MSET", "a", "1", "b", "2"))
      assert_status(File.read(err)[%r{figures: http://(127.0.0.1:\d+)/metrics}, 1])
    end
    assert_equal(0, result.code, result.err)
    assert_match(/^ending: clients get 10.0 s/, result.err)
    assert_match(/clients were served with/, result.out)
  end

  # A signal that nothing hears would end the process.
  def test_signals_are_heard_when_it_says_that_it_listens
    at_once = <<~RUBY
      require "plait/cli/terminal"
      Plait::CLI::Terminal.prepend(Module.new do
        def say(*lines) = super.tap { Process.kill(:HUP, Process.pid) if lines.first.start_with?("listening") }
      end)
    RUBY
    listening("shard", "--nodes", addresses.first, "--listen", "127.0.0.1:0", prelude: at_once) do |_port, _pid, err|
      wait_until { File.read(err).include?("SIGHUP: there is no --config to be read again\n") }
    end
  end

  # A new process has the file as it is now, but moves no keys: what was asked before it comes first.
  def test_signals_during_a_reload_are_heard_in_their_order
    write("shard.yml", "nodes: [#{addresses.first}]\n")
    meanwhile = <<~RUBY
      require "plait/shard"
      Plait::Shard::Proxy.prepend(Module.new do
        def reload(**) = super.tap { @asked ||= %i[HUP USR2].each { |name| Process.kill(name, Process.pid) } }
      end)
    RUBY
    port = nil
    options = %w[--config shard.yml --listen 127.0.0.1:0 --drain 1]
    result = listening("shard", *options, signal: :CONT, prelude: meanwhile) do |its_port, pid, err|
      port = its_port
      reload(pid, err, /has taken over/)
    end
    assert_equal([2, 0], [result.err.scan(/^reloaded for/).size, result.code], result.err)
  ensure
    successor = result && result.err[/^process (\d+) has taken over/, 1]
    end_successor(Integer(successor, 10), port) if successor
  end

  # Who connects at any moment is served, by the one process or the other; nobody is cut.
  def test_sigusr2_hands_over_to_a_new_process
    write("shard.yml", "nodes: [#{addresses.join(", ")}]\nthreads: 2\nmetrics: 127.0.0.1:0\n")
    successor = nil
    port = nil
    options = %w[--config shard.yml --listen 127.0.0.1:0 --drain 30]
    result = listening("shard", *options, signal: :CONT) do |its_port, pid, err|
      port = its_port
      stays = converse(port)
      served = served_meanwhile(port) { successor = hand_over(pid, err) }
      assert_operator(served, :>, 20)
      assert_equal("+PONG\r\n", stays.call("PING"))
      stays.close
      assert_equal("+PONG\r\n", call(port, "PING"))
      figures = File.read(err).scan(%r{figures: http://(127.0.0.1:\d+)/metrics}).flatten
      assert_equal([figures[0]] * 2, figures)
      call(port, "MSET", "a", "1", "b", "2")
      assert_status(figures[0])
    end
    assert_equal(0, result.code, result.err)
  ensure
    end_successor(successor, port) if successor
  end

  def test_a_new_process_that_does_not_serve
    write("shard.yml", "nodes: [#{addresses.join(", ")}]\n")
    listening("shard", "--config", "shard.yml", "--listen", "127.0.0.1:0") do |port, pid, err|
      write("shard.yml", "nodes: [a\n")
      Process.kill(:USR2, pid)
      wait_until { File.read(err).include?("not handed over: the new process has ended without serving (exit 2)") }
      assert_equal("+PONG\r\n", call(port, "PING"))
    end
  end

  def test_sighup_moves_keys
    write("shard.yml", "nodes: [#{addresses.first}]\nreshard: true\n")
    nodes.each { |server| call(server.port, "FLUSHALL") }
    listening("shard", "--config", "shard.yml", "--listen", "127.0.0.1:0") do |port, pid, err|
      call(port, "MSET", *Array.new(300) { |i| ["k#{i}", i.to_s] }.flatten)
      write("shard.yml", "nodes: [#{addresses.join(", ")}]\ndrain: 2\nreshard: true\n")
      reload(pid, err, /^reloaded for .*; 2\d\d keys were copied$/)
      assert_equal(300, call(port, "EXISTS", *Array.new(300) { |i| "k#{i}" })[1..].to_i)
      assert_equal(":300\r\n", call(port, "DBSIZE"))
    end
  end

  def test_status_of_nobody
    result = plait("shard", "status", "--metrics", "127.0.0.1:1")
    assert_equal(69, result.code)
    assert_match(/no proxy serves its figures at 127.0.0.1:1/, result.err)
    assert_equal([2, 2], [plait("shard", "status").code, plait("shard", "statuses").code])
  end

  def test_the_demonstration_starts_its_own_servers_and_ends_them
    nodes = before = []
    listening("shard", "--demo", "3", "--listen", "127.0.0.1:0", "--quiet") do |port, _pid, _err, line|
      nodes = line.scan(/127\.0\.0\.1:(\d+)/).flatten.drop(1).map(&:to_i)
      before = listeners_at(*nodes)
      assert_equal([3, 3, ":0\r\n"], [nodes.size, before.size, call(port, "DBSIZE")])
    end
    assert_empty(before & listeners_at(*nodes))
  end

  def test_without_redis_server_it_says_how_to_get_it
    result = plait("shard", "--demo", env: { "PATH" => File.dirname(RbConfig.ruby) }, prelude: "ENV['PATH'] = '/nonexistent'")
    assert_equal(69, result.code)
    assert_match(/no redis-server was found: sudo apt-get install redis-server/, result.err)
  end

  def test_wrong_options
    { [] => /name the servers: --nodes/, %w[--nodes x] => /the node "x" is not of the form HOST:PORT/,
      %w[--nodes a:1 --demo] => /--demo starts its own/, %w[--nodes a:1 --threads x] => /--threads x: not a whole number/,
      %w[--demo 0] => /--demo 0: must be 1 or more/, %w[--nodes a:1 --placement x] => /no placement :x/,
      %w[--nodes a:1 --tag {] => /the tag is two/, %w[--nodes a:1 --listen x] => /listen: is HOST:PORT/,
      %w[--nodes a:1,b:1,a:1] => /the node a:1 is named twice/, %w[--nodes a:1 --json] => /--json goes with plait shard status/,
      %w[--nodes a:1 --resume] => /--resume goes with --reshard/,
      %w[--nodes a:1 --reshard] => /name one/ }.each do |words, message|
      result = plait("shard", *words)
      assert_equal(2, result.code, words.join(" "))
      assert_match(message, result.err)
    end
  end

  private

  def end_successor(pid, port)
    before = listeners_at(port)
    Process.kill(:TERM, pid)
    wait_until { !before.intersect?(listeners_at(port)) }
  end

  # @return [Integer] the process that serves now
  def hand_over(pid, err)
    Process.kill(:USR2, pid)
    Integer(wait_until(timeout: 60) { File.read(err)[/^process (\d+) has taken over/, 1] }, 10)
  end

  # Clients that come and go while the block runs, and then some more.
  # @return [Integer] how many there were
  def served_meanwhile(port)
    over = false
    counts = [0, 0, 0]
    clients = counts.each_index.map do |index|
      Thread.new do
        until over
          assert_equal("+OK\r\n", call(port, "SET", "k", "v"))
          counts[index] += 1
          sleep(0.005)
        end
      end
    end
    yield
    before = counts.sum
    wait_until { counts.sum > before + 20 || !clients.all?(&:alive?) }
    over = true
    clients.each(&:join)
    counts.sum
  end

  # @yieldparam port [Integer], pid [Integer], the file of its errors [String], its first line [String]
  def listening(*arguments, signal: :INT, prelude: nil)
    patience = "require #{File.expand_path("../shard/patience", __dir__).dump}\n"
    plait_running(*arguments, prelude: "#{patience}#{prelude}") do |pid, out, err|
      line = wait_until(timeout: 60) { File.read(out)[/^listening on .*\n/] || !alive?(pid) }
      assert_kind_of(String, line, File.read(err))
      yield(Integer(line[/:(\d+) for/, 1]), pid, err, line)
      Process.kill(signal, pid)
    end
  end

  def reload(pid, err, said)
    Process.kill(:HUP, pid)
    wait_until(timeout: 60, what: -> { "#{said.inspect} after\n#{File.read(err)}" }) { File.read(err).match?(said) }
  end

  def assert_status(address)
    text = plait("shard", "status", "--metrics", address)
    assert_equal(0, text.code, text.err)
    assert_match(/^mset +1 +\d+.\d\d ms/, text.out)
    assert_match(/^127.0.0.1:\d+ +up +\d/, text.out)
    assert_equal(4, JSON.parse(plait("shard", "status", "--metrics", address, "--json").out)["nodes"].size)
  end

  def alive?(pid) = !File.read("/proc/#{pid}/stat").split(") ").last.start_with?("Z")
end
