# frozen_string_literal: true

require_relative "scripted_origin"
require "logger"
require "stringio"

# What a client does around each call: hooks and a logger.
class HTTPHooksTest < Minitest::Test
  include ClientCases

  # Notes which of its methods were called.
  class Notebook
    attr_reader :lines, :last

    def initialize(name = "", lines = [], raises: nil)
      @name = name
      @lines = lines
      @raises = raises
    end

    %i[before after error].each do |moment|
      define_method(moment) do |call|
        @lines << "#{@name}#{moment}"
        @last = call
        raise(ArgumentError, "in #{@name}#{moment}") if @raises == moment
      end
    end
  end

  def test_before_and_after_with_the_response_and_the_times
    with_notebook do |client, origin, notebook|
      response = client.get(origin.url("/x"))
      call = notebook.last
      assert_equal(%w[before after], notebook.lines)
      assert_equal(["GET", origin.url("/x")], [call.method, call.url])
      assert_same(response, call.response)
      assert_operator(call.duration, :>=, call.timings.first_byte)
      assert_operator(call.timings.connect, :>, 0)
      assert_nil(call.timings.tls)
      client.get(origin.url("/x"))
      assert_nil(notebook.last.timings.connect, "the connection was there already")
    end
  end

  def test_a_call_with_its_redirects_and_retries_is_one
    answers = [answer("", status: "503 No"), answer("now")]
    with_notebook("/a" => redirect("/b"), "/b" => ->(io, _) { io.write(answers.shift) }, retries: { count: 1, base: 0.001 }) do
      |client, origin, notebook|
      assert_equal("now", client.get(origin.url("/a")).body)
      assert_equal([%w[before after], 1], [notebook.lines, notebook.last.response.redirects.size])
    end
  end

  def test_error_with_what_was_raised
    with_notebook("/x" => ->(_io, _) { false }) do |client, origin, notebook|
      error = assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) }
      assert_equal(%w[before error], notebook.lines)
      assert_same(error, notebook.last.error)
      assert_nil(notebook.last.response)
      assert_nil(notebook.last.timings.first_byte)
      assert_operator(notebook.last.duration, :>, 0)
    end
  end

  def test_of_a_block_the_end_is_the_end_of_the_call
    with_notebook do |client, origin, notebook|
      assert_equal(7, client.get(origin.url("/x")) { |response| response.each_piece.sum(&:bytesize) + notebook.lines.size - 1 })
      client.get(origin.url("/x")) { |_| break }
      assert_equal(%w[before after] * 2, notebook.lines)
      assert_raises(IndexError) { client.get(origin.url("/x")) { |_| raise IndexError } }
      assert_equal([%w[before error], IndexError], [notebook.lines.last(2), notebook.last.error.class])
      assert_idle(client)
    end
  end

  def test_a_killed_thread_ends_its_call
    reached = Queue.new
    with_notebook("/x" => ->(_io, _) { reached << 1 and sleep }) do |client, origin, notebook|
      thread = Thread.new { client.get(origin.url("/x")) }
      reached.pop
      thread.kill.join
      assert_equal([%w[before error], nil], [notebook.lines, notebook.last.error])
      assert_idle(client)
    end
  end

  def test_before_may_add_fields
    with_origin(hooks: { before: ->(call) { call.headers["X-Trace"] = "7" } }) do |client, origin|
      client.get(origin.url("/"))
      client.post(origin.url("/"), headers: { "x-trace" => "1", "X-Own" => "2" }, json: {})
      client.get(origin.url("/")) { nil }
      client.fan_out([origin.url("/"), { url: origin.url("/"), headers: { "X-Own" => "3" } }])
      traces = origin.requests.map { |request| request.fields.filter_map { |name, value| value if name == "x-trace" } }
      assert_equal([["7"]], traces.uniq)
      assert_equal([nil, "2", nil], origin.requests.first(3).map { |request| request["x-own"] })
    end
  end

  def test_several_enclose_each_other
    lines = []
    with_origin(hooks: [Notebook.new("1", lines), Notebook.new("2", lines)]) do |client, origin|
      client.get(origin.url("/"))
      assert_equal(%w[1before 2before 2after 1after], lines)
    end
  end

  def test_what_a_hook_raises_reaches_the_caller
    { before: %w[1before 2before 1error], after: %w[1before 2before 2after 1error] }.each do |moment, expected|
      lines = []
      with_origin(hooks: [Notebook.new("1", lines), Notebook.new("2", lines, raises: moment)]) do |client, origin|
        error = assert_raises(ArgumentError) { client.get(origin.url("/")) }
        assert_equal(["in 2#{moment}", expected, moment == :before ? 0 : 1], [error.message, lines, origin.requests.size])
        assert_idle(client)
      end
    end
  end

  # The call's own error may be a timeout or a cancellation, which has to end more than the call.
  def test_what_an_error_hook_raises_does_not_hide_the_error_of_the_call
    lines = []
    hooks = [Notebook.new("1", lines), Notebook.new("2", lines, raises: :error)]
    with_origin("/x" => ->(_io, _) { false }, "/mute" => ->(_io, _) { sleep }, hooks: hooks) do |client, origin|
      _, told = capture_io { assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) } }
      assert_match(/\Aplait: a hook failed for .*GET.*: ArgumentError: in 2error\n\z/, told)
      assert_equal(%w[1before 2before 2error 1error], lines)
      capture_io { assert_raises(Plait::TimeoutError) { Plait.timeout(0.2) { get_and_go_on(client, origin.url("/mute")) } } }
      assert_idle(client)
    end
  end

  def test_each_request_of_a_fan_out_is_a_call
    [nil, :threads].each do |mechanism|
      lines = Queue.new
      with_origin(hooks: { before: ->(call) { lines << call.url }, after: ->(call) { lines << call.response.status } }) do
        |client, origin|
        urls = Array.new(20) { |number| origin.url("/#{number}") }
        assert_equal(20, client.fan_out(urls, on: mechanism, limit: 4).size)
        said = Array.new(lines.size) { lines.pop }
        assert_equal([urls.sort, [200] * 20], said.partition { |one| one.is_a?(String) }.map(&:sort))
      end
    end
  end

  def test_calls_of_the_module_take_them
    notebook = Notebook.new
    ScriptedOrigin.open { |origin| 2.times { Plait::HTTP.get(origin.url("/"), hooks: notebook, proxy: false) } }
    assert_equal(%w[before after] * 2, notebook.lines)
  end

  def test_what_is_no_hook
    [5, { begin: -> {} }, { before: 5 }, [nil]].each do |hooks|
      assert_raises(Plait::UsageError, hooks.inspect) { Plait::HTTP::Client.new(hooks: hooks) }
    end
    assert_raises(Plait::UsageError) { Plait::HTTP::Client.new(logger: true) }
  end

  def test_a_logger_gets_one_line_for_each_call
    lines = log("/x" => ->(_io, _) { false }) do |client, origin|
      client.get(origin.url("/a"))
      client.post(origin.url("/b"), body: "1") { nil }
      assert_raises(Plait::Error) { client.get(origin.url("/x")) }
    end
    ms = /\d+\.\d ms/
    assert_match(%r{\AI.*GET http://127.0.0.1:\d+/a 200, 7 bytes, #{ms} \(connect #{ms}, first byte #{ms}\)\n\z}, lines[0])
    assert_match(%r{\AI.*POST http://127.0.0.1:\d+/b 200, \d+\.\d ms \(}, lines[1])
    assert_match(%r{\AE.*GET http://127.0.0.1:\d+/x failed: Plait::ConnectionClosed: .*, \d+\.\d ms\n\z}, lines[2])
    assert_equal(3, lines.size)
  end

  def test_a_logger_gets_no_secret
    lines = log(auth: { bearer: "s3cret" }, headers: { "X-Api-Key" => "s3cret" }) do |client, origin|
      client.get(origin.url("/?api_key=s3cret&b=1", host: "user:s3cret@127.0.0.1"))
      client.get(origin.url("/"), auth: %w[user s3cret])
      assert_raises(Plait::Error) { client.get("http://user:s3cret@127.0.0.1:1/?token=s3cret") }
    end
    assert_equal(3, lines.size)
    refute_match(/s3cret|c3VyZX|dXNlcj/, lines.join)
  end

  private

  def get_and_go_on(client, url)
    client.get(url)
  rescue StandardError
    nil
  end

  def with_notebook(**given)
    notebook = Notebook.new
    with_origin(hooks: notebook, **given) { |client, origin| yield(client, origin, notebook) }
  end

  def log(**given, &block)
    io = StringIO.new
    with_origin(logger: Logger.new(io), **given, &block)
    io.string.lines
  end
end
