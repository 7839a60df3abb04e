# frozen_string_literal: true

require "test_helper"
require "plait/server"
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
    queue_timeout 5
    before_fork { }
    on_worker_boot { |index| index }
    plugin :tmp_restart
  RUBY

  def test_a_file_of_pumas
    notices = []
    configuration = Plait::Server::Configuration.of(read(PUMA, notice: ->(line) { notices << line }))
    assert_equal([%w[tcp://0.0.0.0:3000], 2, :threads, 3], configuration.to_h.values_at(:binds, :workers, :on, :limit))
    assert_equal(%w[production tmp/server.pid tmp/state], configuration.to_h.values_at(:environment, :pidfile, :state))
    assert_equal({ on: :threads, limit: 3, idle_timeout: 20.0, queue_timeout: 5 }, configuration.options)
    assert_equal([1, 1], [configuration.before_fork.size, configuration.on_boot.size])
    assert_equal(60, configuration.plan(nil).silence)
    assert_equal(["#{@path}:15: `plugin :tmp_restart` has no meaning here: Puma's plugins are for Puma; for tmp/restart.txt " \
                  "see `plait serve restart`"], notices)
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

  def test_what_is_said_by_a_variable_that_is_not_set_is_not_said
    settings = read(<<~RUBY)
      rackup ENV["NO_SUCH"]
      directory ENV["NO_SUCH"]
      environment ENV["NO_SUCH"]
      pidfile ENV["NO_SUCH"]
      state_path ENV["NO_SUCH"]
      access_log ENV["NO_SUCH"]
      metrics ENV["NO_SUCH"]
    RUBY
    assert_equal(Plait::Server::Configuration.of, Plait::Server::Configuration.of(settings))
  end

  def test_times_without_an_end_and_none
    settings = read("idle_timeout nil\ndrain 0\ngrace 0\n")
    assert_equal({ idle_timeout: nil, on: :hybrid }, Plait::Server::Configuration.of(settings).options)
    assert_equal([0, 0], settings.values_at(:drain, :grace))
    assert_equal([0, Float::INFINITY, 3],
                 [":immediately", ":forever", 3].map { |value| read("force_shutdown_after #{value}")[:drain] })
  end

  def test_other_words_of_pumas_that_mean_something
    settings = read(<<~RUBY)
      bind "tcp://0.0.0.0:1"
      clear_binds!
      bind "tcp://0.0.0.0:2"
      http_content_length_limit 1_000
      enable_keep_alives false
    RUBY
    assert_equal(%w[tcp://0.0.0.0:2], settings[:binds])
    assert_equal({ limits: { body: 1_000 }, requests: 1 }, settings[:server])
  end

  # Whoever moves over shall not have to clean up first.
  def test_words_of_pumas_that_mean_nothing_here
    notices = []
    words = Plait::Server::ConfigFile::ForeignWords::ALL.keys
    read(words.map { |word| "#{word} 1 do end\n" }.join, notice: ->(line) { notices << line })
    assert_equal(words, notices.map { |line| line[/`(\w+)` has no meaning here: \S/, 1]&.to_sym })
  end

  # A constant of ours must not come before the app's: DB is often Sequel's, Metrics anybody's.
  def test_constants_are_the_apps
    Object.const_set(:DB, :theirs)
    hooks = read("on_worker_boot { DB }\nbefore_fork { Metrics }\n").values_at(:on_boot, :before_fork).flatten
    assert_equal(:theirs, hooks.first.call)
    assert_match(/uninitialized constant/, assert_raises(NameError) { hooks.last.call }.message)
  ensure
    Object.send(:remove_const, :DB)
  end

  def test_a_host_for_ports_that_name_none
    settings = read("port 1\nset_default_host '::1'\nport 2\nport 3, 'localhost'\nssl_bind '::', 4, cert: 'c', key: 'k'\n")
    assert_equal(%w[tcp://0.0.0.0:1 tcp://[::1]:2 tcp://localhost:3 ssl://[::]:4?cert=c&key=k], settings[:binds])
  end

  def test_plugins
    notices = []
    read("plugin :solid_queue\nplugin 'other'\n", notice: ->(line) { notices << line[/`.*/] })
    assert_equal(["`plugin :solid_queue` has no meaning here: Puma's plugins are for Puma; run bin/jobs in a process of its own",
                  "`plugin \"other\"` has no meaning here: Puma's plugins are for Puma"], notices)
  end

  def test_numbers_of_memory
    { 300 => 300 << 20, "64kb" => 64 << 10, "2 GB" => 2 << 30, "512MB" => 512 << 20, "512M" => 512 << 20,
      "1GiB" => 1 << 30 }.each do |text, bytes|
      assert_equal(bytes, read("worker_memory #{text.inspect}")[:worker_memory])
    end
  end

  { "wrkers 2" => /:1: there is no word `wrkers`; did you mean `workers`\?/,
    "\nquantum_mode!" => /:2: there is no word `quantum_mode!`\. The words are access_log, /,
    "workers(-1)" => /:1: workers takes a number from 0 on, not -1/,
    "workers 40_000" => /:1: workers: a number from 0 to 1024, or auto, not 40000/,
    "threads 1, 'many'" => /:1: threads takes a number from 1 on, not "many"/,
    "worker_memory 'much'" => /:1: worker_memory takes megabytes, or text such as "512MB", not "much"/,
    "drain(-1)" => /:1: drain takes seconds, not -1/,
    "force_shutdown_after :soon" => /:1: drain takes seconds, not :soon/,
    "idle_timeout 0" => /:1: idle_timeout takes seconds above 0, not 0/,
    "first_data_timeout false" => /:1: head_timeout takes seconds above 0, not false/,
    "stdout_redirect ''" => /:1: stdout_redirect takes text, not ""/,
    "app { }" => /:1: an app stands in a config\.ru: see rackup/,
    "bind 'unix:///a?mode=999'" => /:1: .* mode=999 is no number for the permissions of the socket's file, octal/,
    "\nbind 'nowhere'" => /:2: "nowhere" has no port; there are tcp:/,
    "bind nil" => /:1: "" is no endpoint/,
    "port 99_999" => /:1: 99999 is no port: they go from 0 to 65535/,
    "ssl_bind '127.0.0.1', 443, cert: 'a'" => /:1: ssl:.*: it lacks its key/,
    "metrics 'nowhere'" => /:1: "nowhere" has no port/,
    "on :ractors" => /:1: a server runs on: :threads, :fibers or :hybrid, not :ractors; for processes say workers/,
    "on nil" => /:1: a server runs on: .*, not nil/,
    "server quantum: 1" => /:1: no option quantum: of a server; there are on, limit,/,
    "server head_timeout: 'long'" => /:1: head_timeout: is seconds above 0, not "long"/,
    "server limits: { bodies: 1 }" => /:1: no limit :bodies/,
    "access_log 'a', format: :xml" => /:1: an access log is common, combined, json, not :xml/,
    "pidfile ''" => /:1: pidfile takes text, not ""/,
    "early_hints 'no'" => /:1: early_hints takes true or false, not "no"/,
    "preload_app! 0" => /:1: preload_app! takes true or false, not 0/,
    "def endless = endless\nendless" => /:1: SystemStackError: stack level too deep/,
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
    error = assert_raises(Plait::UsageError) { count.call(nil, "WEB_CONCURRENCY" => "some") }
    assert_equal("WEB_CONCURRENCY: a number from 0 to 1024, or auto, not \"some\"", error.message)
    assert_match(/\Aworkers: .*, not 40000\z/, assert_raises(Plait::UsageError) { count.call(40_000) }.message)
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
