# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "json"
require "net/http"
require "open3"
require "socket"
require "support/certificates"
require "support/command_line"

class ServeCommandTest < Minitest::Test
  include Support::CommandLine

  RACKUP = <<~RUBY
    class Upcase
      def initialize(app) = @app = app
      def call(env) = @app.call(env).tap { |response| response[2] = response[2].map(&:upcase) }
    end
    use Upcase
    run ->(env) { [200, { "content-type" => "text/plain" }, ["hello \#{env["PATH_INFO"]}"]] }
  RUBY

  def test_serves_a_config_until_it_is_told_to_stop
    File.write(File.join(folder, "config.ru"), RACKUP)
    %w[threads fibers hybrid].each do |mechanism|
      result = plait_running("serve", "--on", mechanism, "--workers", "1", "--bind", "tcp://127.0.0.1:0") do |pid, _, err|
        port = wait_until(timeout: 60) { File.read(err)[%r{at http://127\.0\.0\.1:(\d+)$}, 1] }
        assert_equal("HELLO /A", Net::HTTP.get(URI("http://127.0.0.1:#{port}/a")))
        Process.kill(:TERM, pid)
      end
      assert_equal([0, ""], [result.code, result.out])
      assert_match(/^plait \d.* serves config\.ru on #{mechanism} in \d+ workers? at .*\nstopped\n\z/, result.err)
    end
  end

  def test_what_is_wrong_is_said_in_a_sentence
    File.write(File.join(folder, "raises.ru"), "\nraise 'broken'\n")
    File.write(File.join(folder, "syntax.ru"), "run ->( {\n")
    File.write(File.join(folder, "good.ru"), RACKUP)
    taken = TCPServer.new("127.0.0.1", 0)
    at = "tcp://127.0.0.1:#{taken.local_address.ip_port}"
    { %w[serve] => /there is no file config\.ru/, %w[serve raises.ru] => /raises\.ru can't be loaded: broken.*raises\.ru:2/,
      %w[serve syntax.ru] => /syntax\.ru can't be loaded/, %w[serve good.ru --on ractors] => /--on ractors: .* not :ractors/,
      %w[serve good.ru --limit many] => /--limit many: limit takes a number from 1 on, not "many"/,
      ["serve", "good.ru", "--bind", at] => /a process listens there/ }
      .each do |arguments, words|
        result = plait(*arguments)
        refute_equal(0, result.code)
        assert_match(words, result.err)
      end
  ensure
    taken&.close
  end

  def test_options_as_puma_has_them
    File.write(File.join(folder, "config.ru"), "run ->(_) { [200, {}, [ENV['RACK_ENV']]] }")
    File.write(File.join(folder, "plait.rb"), "limit 7")
    words = %w[-p 0 -b tcp://127.0.0.1:0 -w 2 -e staging -t 0:3 -C plait.rb -S state]
    result = plait_running("serve", *words) do |pid, _, err|
      port = wait_until(timeout: 60) { File.read(err)[%r{at http://127\.0\.0\.1:\d+, http://0\.0\.0\.0:(\d+)$}, 1] }
      assert_equal("staging", Net::HTTP.get(URI("http://127.0.0.1:#{port}/")))
      assert_equal(["threads", 2], JSON.parse(File.read(File.join(folder, "state"))).values_at("on", "count"))
      Process.kill(:TERM, pid)
    end
    assert_match(/serves config\.ru on threads in 2 workers at /, result.err)
  end

  def test_what_puma_has_and_is_called_otherwise_here
    { %w[-d] => /--daemon, -d: .* a service manager does that/, %w[-v] => /here it is --access-log -/,
      %w[--control-url auto] => /here it is --state FILE/, %w[-t 5:x] => /--threads 5:x: MIN:MAX, such as 5:5/,
      %w[-p 99999] => /--port 99999: 99999 is no port/ }.each do |words, told|
      result = plait("serve", *words)
      assert_equal(2, result.code)
      assert_match(told, result.err)
    end
  end

  def test_workers_end_with_the_one_that_has_begun_them
    File.write(File.join(folder, "config.ru"), "run ->(_) { [200, {}, [Process.pid.to_s]] }")
    worker = nil
    plait_running("serve", "--workers", "2", "--bind", "tcp://127.0.0.1:0") do |pid, _, err|
      port = wait_until(timeout: 60) { File.read(err)[%r{at http://127\.0\.0\.1:(\d+)$}, 1] }
      worker = Integer(Net::HTTP.get(URI("http://127.0.0.1:#{port}/")))
      refute_equal(pid, worker)
      Process.kill(:KILL, pid)
    end
    wait_until(what: "the end of the worker") { ended?(worker) }
  end

  def test_over_tls
    authority = Certificates::Authority.new
    pair = authority.issue("IP:127.0.0.1")
    File.write(File.join(folder, "config.ru"), RACKUP)
    File.write(File.join(folder, "cert.pem"), pair.certificate.to_pem)
    File.write(File.join(folder, "key.pem"), pair.key.to_pem)
    result = plait_running("serve", "--bind", "ssl://127.0.0.1:0?cert=cert.pem&key=key.pem") do |pid, _, err|
      port = wait_until(timeout: 60) { File.read(err)[%r{at https://127\.0\.0\.1:(\d+)$}, 1] }
      answer = Net::HTTP.start("127.0.0.1", port, use_ssl: true, cert_store: authority.store) { |http| http.get("/a").body }
      assert_equal("HELLO /A", answer)
      Process.kill(:TERM, pid)
    end
    assert_equal(0, result.code)
    assert_match(/lacks its key/, plait("serve", "--bind", "ssl://127.0.0.1:0?cert=cert.pem").err)
  end

  def test_an_app_that_is_never_loaded
    File.write(File.join(folder, "config.ru"), "sleep")
    File.write(File.join(folder, "plait.rb"), "worker_boot_timeout 0.5")
    result = plait("serve", "-C", "plait.rb", "--bind", "tcp://127.0.0.1:0", "--workers", "1")
    assert_equal(1, result.code)
    assert_match(/\Aplait: the app was not ready after 0.5 s \(worker_boot_timeout\)/, result.err)
    result = plait_running("serve", "-C", "plait.rb", "--bind", "tcp://127.0.0.1:0", "--workers", "0") do |pid, _, err|
      wait_until(timeout: 60) { File.read(err).include?("config.ru is being loaded for 0.5 s by now") }
      Process.kill(:KILL, pid)
    end
    refute_includes(result.err, "serves")
  end

  def test_an_app_that_may_be_loaded_for_ever
    File.write(File.join(folder, "config.ru"), RACKUP)
    File.write(File.join(folder, "plait.rb"), "worker_boot_timeout Float::INFINITY")
    %w[0 1].each do |workers|
      result = plait_running("serve", "-C", "plait.rb", "--bind", "tcp://127.0.0.1:0", "--workers", workers) do |pid, _, err|
        wait_until(timeout: 60) { File.read(err).include?("serves config.ru") }
        Process.kill(:TERM, pid)
      end
      assert_equal(0, result.code, result.err)
    end
  end

  SLOW = <<~RUBY
    run ->(env) { env["PATH_INFO"] == "/slow" and File.write("begun", "") && sleep(0.5); [200, {}, [Process.pid.to_s]] }
  RUBY

  { "INT" => {}, "TERM" => { workers: "2", early_hints: "true" } }.each do |signal, options|
    define_method(:"test_rackup_ends_by_SIG#{signal}_when_what_was_begun_is_answered") do
      with_rackup(SLOW, Host: "127.0.0.1", on: "fibers", limit: "8", **options) do |port, pid|
        worker = Net::HTTP.get(URI("http://127.0.0.1:#{port}/"))
        assert_equal(options.empty?, worker == pid.to_s)
        slow = Thread.new { Net::HTTP.get(URI("http://127.0.0.1:#{port}/slow")) }
        wait_until(timeout: 60) { File.exist?(File.join(folder, "begun")) }
        Process.kill(signal, pid)
        assert_match(/\A\d+\z/, slow.value)
      end
    end
  end

  def test_rackup_reads_the_configuration
    FileUtils.mkdir_p(File.join(folder, "config"))
    File.write(File.join(folder, "config/plait.rb"), <<~RUBY)
      on :threads
      workers 1
      pidfile "pid"
      bind "tcp://127.0.0.1:1"
      on_worker_boot { |index| ENV["BOOTED"] = index.to_s }
    RUBY
    app = "run ->(_) { [200, {}, [ENV['BOOTED'].inspect, Fiber.current_scheduler.inspect, Process.pid.to_s]] }"
    _, complaints = capture_subprocess_io do
      with_rackup(app, Host: "127.0.0.1") do |port, pid|
        body = Net::HTTP.get(URI("http://127.0.0.1:#{port}/"))
        assert_match(/\A"0"nil\d+\z/, body)
        refute_match(/nil#{pid}\z/, body)
        Process.kill(:TERM, pid)
      end
    end
    assert_match(%r{^plait: config/plait\.rb: only plait serve heeds pidfile$}, complaints)
    refute_path_exists(File.join(folder, "pid"))
  end

  # As of rackup and of Rails, which name a place where their users have named none.
  def test_rackup_listens_where_the_configuration_says
    require "rackup/handler/plait"
    { { Host: "localhost", Port: 9292 } => 2, { Host: "localhost", Port: 3000, user_supplied_options: [] } => 2,
      { Host: "127.0.0.1", Port: 0, user_supplied_options: [:Port] } => 1 }.each do |options, places|
      Dir.mktmpdir do |folder|
        File.write("#{folder}/plait.rb", "bind 'tcp://127.0.0.1:0'\nbind 'unix://#{folder}/s'\ndrain 0\n")
        stub_path("#{folder}/plait.rb") do
          Rackup::Handler::Plait.run(->(_) {}, **options) do |server|
            assert_equal(places, server.endpoints.size)
            server.stop(within: 0)
          end
        end
      end
    end
  end

  def test_rackup_ends_at_once_at_the_second_signal
    endless = 'run ->(env) { env["PATH_INFO"] == "/" ? [200, {}, []] : File.write("begun", "") && sleep }'
    with_rackup(endless, Host: "::1", drain: "300") do |port, pid|
      # Of a URI with an IPv6 address Net::HTTP of Ruby 3.1 sends a Host without brackets, which is malformed.
      Thread.new { Net::HTTP.start("::1", port) { |http| http.get("/slow") } rescue nil } # rubocop:disable Style/RescueModifier
      wait_until(timeout: 60) { File.exist?(File.join(folder, "begun")) }
      wait_until(timeout: 60) { Process.kill(:INT, pid) && sleep(0.1) && ended?(pid) } # two at a time are one signal
    end
  end

  { limit: "many", workers: "x", drain: "-1", early_hints: "perhaps" }.each do |name, text|
    define_method(:"test_rackup_refuses_#{name}=#{text}") do
      require "rackup/handler/plait"
      error = assert_raises(Plait::UsageError) { Rackup::Handler::Plait.run(->(_) {}, Port: 0, name => text) }
      assert_match(/\A-O #{name}=#{text}: #{name} takes /, error.message)
    end
  end

  # As `plait serve` does; who calls the handler in a program gets the error.
  def test_rackup_tells_what_is_wrong_in_one_sentence
    taken = TCPServer.new("127.0.0.1", 0)
    File.write(File.join(folder, "config.ru"), "run ->(_) { [200, {}, []] }")
    taken_port = taken.local_address.ip_port.to_s
    wrong = { %w[-O limit=many] => ["-O limit=many: limit takes a number from 1 on, not \"many\"", 2],
              %w[-O on=wishes] => [/\A-O on=wishes: a server runs on: :threads, :fibers or :hybrid, not :wishes/, 2],
              %w[-p no] => [%r{\A"tcp://127\.0\.0\.1:no" is no endpoint}, 2],
              ["-p", taken_port] => [%r{\Acan't listen on tcp://127\.0\.0\.1:#{taken_port}: a process listens there}, 69] }
    wrong.each do |words, (sentence, status)|
      _, complaint, process = Open3.capture3(RbConfig.ruby, *Support::FLAGS, Gem.bin_path("rackup", "rackup"),
                                             *%w[-s plait -E none -o 127.0.0.1], *words, chdir: folder)
      assert_equal(1, complaint.lines.size, complaint)
      assert_operator(sentence, :===, complaint.chomp.delete_prefix("plait: "))
      assert_equal(status, process.exitstatus)
    end
  ensure
    taken.close
  end

  private

  def stub_path(path)
    before = Plait::Server::ConfigFile::PATH
    Plait::Server::ConfigFile.send(:remove_const, :PATH)
    Plait::Server::ConfigFile.const_set(:PATH, path)
    yield
  ensure
    Plait::Server::ConfigFile.send(:remove_const, :PATH)
    Plait::Server::ConfigFile.const_set(:PATH, before)
  end

  # @yieldparam port [Integer]
  # @yieldparam pid [Integer] of a rackup that is to end well
  def with_rackup(rackup, **options)
    File.write(File.join(folder, "config.ru"), rackup)
    port, pid = (1..3).lazy.filter_map { start_rackup(options) }.first || flunk("rackup has ended at once, on three ports")
    yield port, pid
    assert_equal(0, Process.wait2(pid).last.exitstatus)
  end

  # @return [Array(Integer, Integer), nil] nil: it has ended, as when somebody else has taken the port by then
  def start_rackup(options)
    port = Addrinfo.tcp(options[:Host], 0).bind { |socket| socket.local_address.ip_port }
    script = 'require "json"; require "rackup"; options = JSON.parse(ARGV[0], symbolize_names: true)
              Rackup::Server.start(config: "config.ru", server: "plait", environment: "none", **options)'
    pid = Process.spawn(RbConfig.ruby, *Support::FLAGS, "-e", script, JSON.generate({ Port: port, **options }),
                        chdir: folder, out: File::NULL)
    wait_until(timeout: 60) { ended?(pid) || served?(options[:Host], port) }
    ended?(pid) ? Process.wait(pid).then { nil } : [port, pid]
  end

  # To be connected says nothing: somebody else may listen there.
  def served?(host, port)
    Net::HTTP.start(host, port, nil) { |http| http.get("/") }.is_a?(Net::HTTPOK)
  rescue SystemCallError, IOError, Net::ProtocolError, Net::HTTPBadResponse
    false
  end

  # Nobody here may be there to wait for it.
  def ended?(pid)
    File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"
  rescue SystemCallError
    true
  end
end
