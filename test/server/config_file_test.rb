# frozen_string_literal: true

require_relative "../test_helper"
require "plait/server/config_file"
require "plait/server/configuration"
require "tmpdir"

class ServerConfigFileTest < Minitest::Test
  PUMA = <<~RUBY
    # A config/puma.rb as rails new writes it, and a little more.
    threads_count = ENV.fetch("NO_SUCH_THREADS", 3)
    threads threads_count, threads_count
    workers 2
    preload_app!
    port ENV.fetch("NO_SUCH_PORT", 3000)
    environment "production"
    pidfile "tmp/server.pid"
    state_path "tmp/state"
    worker_timeout 60
    persistent_timeout "20"
    before_fork { }
    on_worker_boot { |index| index }
    plugin :tmp_restart
  RUBY

  def test_a_file_of_pumas
    notices = []
    configuration = Plait::Server::Configuration.of(read(PUMA, notice: ->(line) { notices << line }))
    assert_equal([%w[tcp://0.0.0.0:3000], 2, :threads, 3], configuration.to_h.values_at(:binds, :workers, :on, :limit))
    assert_equal(%w[production tmp/server.pid tmp/state], configuration.to_h.values_at(:environment, :pidfile, :state))
    assert_equal({ on: :threads, limit: 3, idle_timeout: 20.0 }, configuration.options)
    assert_equal([1, 1], [configuration.before_fork.size, configuration.on_boot.size])
    assert_equal(["#{@path}:10: `worker_timeout` has no meaning here: a worker that dies is noticed at once, and one whose " \
                  "loop stands still is reported", "#{@path}:14: `plugin` has no meaning here: Puma's plugins are for Puma"],
                 notices)
  end

  def test_what_is_our_own
    settings = read(<<~RUBY)
      bind "unix:///run/app.sock"
      port 80, "::1"
      ssl_bind "0.0.0.0", 443, cert: "a b.pem", key: "key.pem"
      on :fibers, limit: 100
      threads 5
      queue 7
      worker_memory "1.5GB"
      drain 12
      server spool: 1024
      head_timeout 3
    RUBY
    assert_equal(%w[unix:///run/app.sock tcp://[::1]:80 ssl://0.0.0.0:443?cert=a+b.pem&key=key.pem], settings[:binds])
    assert_equal([:fibers, 5, 7, 1536 << 20, 12], settings.values_at(:on, :limit, :queue, :worker_memory, :drain))
    assert_equal({ spool: 1024, head_timeout: 3 }, settings[:server])
  end

  def test_numbers_of_memory
    { 300 => 300 << 20, "64kb" => 64 << 10, "2 GB" => 2 << 30, "512MB" => 512 << 20 }.each do |text, bytes|
      assert_equal(bytes, read("worker_memory #{text.inspect}")[:worker_memory])
    end
  end

  { "wrkers 2" => /:1: there is no word `wrkers`; did you mean `workers`\?/,
    "\nquantum_mode!" => /:2: there is no word `quantum_mode!`\. The words are access_log, /,
    "workers(-1)" => /:1: workers takes a number from 0 on, not -1/,
    "threads 1, 'many'" => /:1: threads takes a number from 1 on, not "many"/,
    "worker_memory 'much'" => /:1: worker_memory takes megabytes, or text such as "512MB", not "much"/,
    "drain 0" => /:1: drain takes seconds above 0, not 0/,
    "on_worker_boot" => /:1: on_worker_boot takes a block/,
    "\n\nraise 'oh'" => /:3: RuntimeError: oh/,
    "workers(" => /does not parse: .*:1: syntax error/,
    "require 'no/such/file'" => /:1: LoadError: cannot load such file/ }.each do |source, words|
    define_method(:"test_refuses_#{source.strip.inspect}") do
      error = assert_raises(Plait::UsageError) { read(source) }
      assert_match(words, error.message)
      assert_equal(1, error.message.lines.size)
    end
  end

  def test_one_that_is_not_there
    error = assert_raises(Plait::UsageError) { Plait::Server::ConfigFile.read("/no/such/plait.rb") }
    assert_equal("/no/such/plait.rb can't be read: No such file or directory", error.message)
  end

  def test_how_many_workers
    count = ->(workers, env = {}) { Plait::Server::Configuration.of({ workers: workers }).worker_count(env) }
    assert_equal([0, 3, 5], [count.call(0), count.call(3), count.call(nil, "WEB_CONCURRENCY" => "5")])
    assert_equal([Etc.nprocessors] * 2, [count.call(nil), count.call("auto")])
    assert_raises(Plait::UsageError) { count.call(nil, "WEB_CONCURRENCY" => "some") }
  end

  def test_what_is_said_last_counts
    configuration = Plait::Server::Configuration.of({ on: :threads, limit: 4 }, { on: nil, limit: 5 })
    assert_equal([:threads, 5, "config.ru", []], configuration.to_h.values_at(:on, :limit, :rackup, :before_fork))
  end

  private

  def read(source, **options)
    Dir.mktmpdir do |folder|
      @path = "#{folder}/plait.rb"
      File.write(@path, source)
      Plait::Server::ConfigFile.read(@path, **options)
    end
  end
end
