# frozen_string_literal: true

require_relative "../test_helper"
require "plait/cli"
require "net/http"
require "socket"
require_relative "../io/certificates"
require_relative "support/command_line"

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
        port = wait_until { File.read(err)[%r{at http://127\.0\.0\.1:(\d+)$}, 1] }
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
      %w[serve syntax.ru] => /syntax\.ru can't be loaded/, %w[serve good.ru --on ractors] => /not :ractors/,
      %w[serve good.ru --limit many] => /--limit is a number/, ["serve", "good.ru", "--bind", at] => /somebody listens there/ }
      .each do |arguments, words|
        result = plait(*arguments)
        refute_equal(0, result.code)
        assert_match(words, result.err)
      end
  ensure
    taken&.close
  end

  def test_workers_end_with_the_one_that_has_begun_them
    File.write(File.join(folder, "config.ru"), "run ->(_) { [200, {}, [Process.pid.to_s]] }")
    worker = nil
    plait_running("serve", "--workers", "2", "--bind", "tcp://127.0.0.1:0") do |pid, _, err|
      port = wait_until { File.read(err)[%r{at http://127\.0\.0\.1:(\d+)$}, 1] }
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
      port = wait_until { File.read(err)[%r{at tls://127\.0\.0\.1:(\d+)$}, 1] }
      answer = Net::HTTP.start("127.0.0.1", port, use_ssl: true, cert_store: authority.store) { |http| http.get("/a").body }
      assert_equal("HELLO /A", answer)
      Process.kill(:TERM, pid)
    end
    assert_equal(0, result.code)
    assert_match(/lacks its key/, plait("serve", "--bind", "ssl://127.0.0.1:0?cert=cert.pem").err)
  end

  def test_rackup
    File.write(File.join(folder, "config.ru"), RACKUP)
    script = 'require "rackup"; Rackup::Server.start(config: "config.ru", server: "plait", Host: "127.0.0.1", Port: ARGV[0], ' \
             'environment: "none", on: "fibers", limit: "8")'
    port = Addrinfo.tcp("127.0.0.1", 0).bind { |socket| socket.local_address.ip_port }
    pid = Process.spawn(RbConfig.ruby, "-I#{Support::ROOT}/lib", "-e", script, port.to_s, chdir: folder, out: File::NULL)
    answer = wait_until { Net::HTTP.get(URI("http://127.0.0.1:#{port}/b")) rescue nil } # rubocop:disable Style/RescueModifier
    assert_equal("HELLO /B", answer)
    Process.kill(:INT, pid)
    assert_equal(0, Process.wait2(pid).last.exitstatus)
  end

  private

  # Nobody here may be there to wait for it.
  def ended?(pid)
    File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"
  rescue SystemCallError
    true
  end
end
