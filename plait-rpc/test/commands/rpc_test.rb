# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/cli/rpc/call"
require "plait/rpc"
require_relative "../rpc/toy_server"
require "support/certificates"
require "support/command_line"
require "json"

class RpcCommandTest < Minitest::Test
  include Support::CommandLine

  class Service
    def add(first, second) = first + second

    def show(*values) = values.inspect

    def text = "two\nlines"

    def bytes = "\xff\x00".b

    def fails = raise(KeyError, "nothing there")

    def waits = sleep(30)
  end

  def test_a_call
    serve do |url|
      assert_result("3\n", plait("rpc", "call", url, "add", "1", "2"))
      assert_result("-1\n", plait("rpc", "call", url, "add", "1", "--", "-2"))
      assert_result("ab\n", plait("rpc", "call", url, "add", "a", "b"))
      assert_result("12\n", plait("rpc", "call", url, "add", '"1"', '"2"'))
      assert_result("[1,{\"a\":2.5},null]\n", plait("rpc", "call", url, "add", '[1,{"a":2.5}]', "[null]"))
    end
  end

  def test_what_is_printed
    serve do |url|
      assert_result("two\nlines\n", plait("rpc", "call", url, "text"))
      assert_result("\"two\\nlines\"\n", plait("rpc", "call", url, "text", "--json"))
      assert_equal("\xff\x00".b, plait("rpc", "call", url, "bytes").out.b)
      assert_result("{\"base64\":\"/wA=\"}\n", plait("rpc", "call", url, "bytes", "--json"))
      shown = [1, true, "x y", { "k" => nil }].inspect
      assert_equal("#{shown}\n", plait("rpc", "call", url, "show", "1", "true", "x y", '{"k":null}').out)
    end
  end

  def test_what_goes_wrong
    serve do |url|
      assert_failure(1, "KeyError: nothing there", plait("rpc", "call", url, "fails"))
      assert_failure(1, 'there is no method "send"', plait("rpc", "call", url, "send", "exit"))
      assert_failure(1, "did not answer waits in time", plait("rpc", "call", url, "waits", "--timeout", "0.1"))
      assert_failure(2, "--timeout soon: not a number", plait("rpc", "call", url, "waits", "--timeout", "soon"))
    end
    assert_failure(69, "nothing listens there", plait("rpc", "call", "tcp://127.0.0.1:1", "x"))
    assert_failure(2, "needs a URL and a method", plait("rpc", "call", "tcp://127.0.0.1:1"))
    assert_failure(2, "nowhere", plait("rpc", "call", "nowhere", "x"))
    assert_failure(2, 'unknown "plait rpc cal"; did you mean "call"?', plait("rpc", "cal"))
    assert_failure(2, "lacks an argument", plait("rpc"))
  end

  def test_a_notification
    told = Queue.new
    ToyServer.open(->(message, _peer) { told << message }) do |toy|
      assert_result("", plait("rpc", "call", toy.url, "note", "1", "x", "--notify"))
      assert_equal([2, "note", [1, "x"]], told.pop)
    end
  end

  def test_serves_a_file_until_it_is_interrupted
    write("calculator.rb", <<~RUBY)
      class Calculator
        def add(first, second) = first + second
        def wait(seconds) = [sleep(seconds), $stdout.puts("over")].last.to_s
        private def hidden = 1
      end
      Calculator.new
    RUBY
    result = plait_running("rpc", "serve", "calculator.rb", "--on", "fibers", "--listen", "tcp://127.0.0.1:0",
                           "--errors", "pair") do |pid, out, _|
      url = url_in(out)
      Plait::RPC::Client.open(url) do |client|
        assert_equal(3, client.call(:add, 1, 2))
        error = assert_raises(Plait::RemoteError) { client.call(:hidden) }.error
        assert_equal([1, 'NoMethodError: there is no method "hidden"'], error)
        future = client.call_async(:wait, 0.3)
        client.call(:add, 1, 2)
        Process.kill(:INT, pid)
        assert_equal("", future.value, "what has begun comes to its end")
      end
    end
    assert_equal(0, result.code, result.err)
    assert_match(/\Alistening on tcp:.*\nover\n\z/, result.out)
  end

  def test_the_secret_is_asked_for
    write("service.rb", "{ \"hello\" => -> { \"ok\" } }\n")
    secret = { "PLAIT_RPC_SECRET" => "sesame" }
    plait_running("rpc", "serve", "service.rb", "--listen", "tcp://127.0.0.1:0", env: secret) do |pid, out, _|
      url = url_in(out)
      assert_failure(1, "secret", plait("rpc", "call", url, "hello", env: { "PLAIT_RPC_SECRET" => nil }))
      assert_result("ok\n", plait("rpc", "call", url, "hello", env: secret))
      Process.kill(:TERM, pid)
    end
  end

  def test_certificates_on_both_sides
    authority = Certificates::Authority.new
    ours, theirs = %w[IP:127.0.0.1 DNS:client].map { |name| authority.issue(name).to_h }
    files = { "ca" => authority.pair.certificate, "cert" => ours[:certificate], "key" => ours[:key],
              "their-cert" => theirs[:certificate], "their-key" => theirs[:key] }
    files.each { |name, object| write("#{name}.pem", object.is_a?(String) ? object : object.to_pem) }
    write("service.rb", "{ \"hello\" => -> { \"ok\" } }\n")
    plait_running("rpc", "serve", "service.rb", "--listen", "tls://127.0.0.1:0", "--cert", "cert.pem", "--key", "key.pem",
                  "--cacert", "ca.pem") do |pid, out, _|
      url = url_in(out)
      assert_failure(1, "", plait("rpc", "call", url, "hello", "--cacert", "ca.pem"))
      assert_failure(69, "if you trust them, give theirs by --cacert", plait("rpc", "call", url, "hello"))
      assert_result("ok\n", plait("rpc", "call", url, "hello", "--cacert", "ca.pem", "--cert", "their-cert.pem",
                                  "--key", "their-key.pem"))
      Process.kill(:TERM, pid)
    end
  end

  def test_as_many_processes_as_it_is_told
    write("service.rb", "{ \"hello\" => -> { \"ok\" } }\n")
    plait_running("rpc", "serve", "service.rb", "--listen", "tcp://127.0.0.1:0", "--on", "processes",
                  "--workers", "3") do |pid, out, _|
      url = url_in(out)
      wait_until { JSON.parse(plait("rpc", "call", url, "rpc.stats").out)["processes"] == 3 }
      Process.kill(:TERM, pid)
    end
  end

  def test_files_that_can_not_be_served
    { "1 +" => /file\.rb does not parse/, "\nraise KeyError, \"no\"" => /file\.rb:2: KeyError: no/, "nil" => /last value/,
      "Object.new" => /nothing can be called/, "require \"no/such\"" => /file\.rb:1: LoadError/ }.each do |text, message|
      write("file.rb", text)
      result = plait("rpc", "serve", "file.rb", "--listen", "tcp://127.0.0.1:0")
      assert_equal([2, ""], [result.code, result.out], text)
      assert_match(message, result.err)
    end
    assert_failure(2, "missing.rb can't be read: No such file", plait("rpc", "serve", "missing.rb"))
    assert_failure(2, "takes one FILE.rb", plait("rpc", "serve"))
  end

  def test_an_address_that_is_taken
    write("service.rb", "{ \"hello\" => -> { \"ok\" } }\n")
    TCPServer.open("127.0.0.1", 0) do |taken|
      name = "127.0.0.1:#{taken.addr[1]}"
      assert_failure(69, name, plait("rpc", "serve", "service.rb", "--listen", name))
    end
  end

  def test_bench
    result = plait("rpc", "bench", "--seconds", "0.1", "--threads", "2", "--json")
    assert_equal(0, result.code, result.err)
    rows = JSON.parse(result.out).fetch("rows")
    assert_equal(["one after another", "2 threads, one client", "64 in flight"], rows.map { |row| row["label"] })
    assert(rows.all? { |row| row["calls"].positive? && row["latency_s"]["p50"] <= row["latency_s"]["max"] })
    assert_match(%r{^ +calls +calls/s +median}, result.err)
  end

  def test_bench_of_a_server_that_is_there
    serve do |url|
      result = plait("rpc", "bench", url, "add", "1", "2", "--seconds", "0.1")
      assert_equal(0, result.code, result.err)
      assert_match(/\Aadd of #{url}$/, result.out)
      assert_match(/^  64 in flight +\d/, result.out)
      assert_failure(1, "nothing there", plait("rpc", "bench", url, "fails", "--seconds", "0.1"))
    end
  end

  def test_options_without_effect_are_mentioned
    serve do |url|
      assert_match(/^plait: --limit has no effect on "rpc call"$/, plait("rpc", "call", url, "text", "--limit", "3").err)
    end
  end

  def test_extension_types_have_a_form_in_json
    found = Plait::CLI::Rpc::Values.print([MessagePack::ExtensionValue.new(5, "\x01"), Float::NAN, { 1 => "é" }], json: true)
    assert_equal("[{\"type\":5,\"base64\":\"AQ==\"},\"NaN\",{\"1\":\"é\"}]\n", found)
  end

  private

  def serve
    server = Plait::RPC::Server.new(Service.new)
    endpoint = server.listen("127.0.0.1", 0)
    thread = server.start
    yield endpoint.to_s
  ensure
    server.stop(within: 0)
    thread.join
  end

  def url_in(file)
    wait_until { File.exist?(file) && File.read(file).include?("\n") }
    File.read(file)[/listening on (\S+)/, 1]
  end

  def assert_result(out, result)
    assert_equal([0, out, ""], [result.code, result.out, result.err])
  end

  def assert_failure(code, message, result)
    assert_equal([code, ""], [result.code, result.out], result.err)
    assert_match(/\Aplait: .*#{Regexp.escape(message)}/, result.err)
  end
end
