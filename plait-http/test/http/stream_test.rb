# frozen_string_literal: true

require_relative "scripted_origin"
require "zlib"

# Bodies that are read outside of a block, and line by line.
class HTTPStreamTest < Minitest::Test
  include ClientCases

  LINES = "one\ntwo\r\n\nw\u00f6rter\nlast"

  def chunked(*pieces, fields: [])
    lambda do |io, _|
      io.write(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *fields, "", ""].join("\r\n"))
      pieces.each { |piece| io.write("#{piece.bytesize.to_s(16)}\r\n#{piece}\r\n") }
      io.write("0\r\nX-Sum: 1\r\n\r\n")
    end
  end

  def test_lines_of_a_body_in_pieces_of_any_size
    bytes = LINES.b
    [1, 2, 3, 7, 100].each do |size|
      pieces = bytes.scan(/.{1,#{size}}/mn)
      with_origin("/x" => chunked(*pieces)) do |client, origin|
        lines = []
        client.get(origin.url("/x")) { |response| response.each_line { |line| lines << line } }
        assert_equal(LINES.lines, lines)
        assert_equal(LINES.lines(chomp: true), client.get(origin.url("/x")).each_line(chomp: true).to_a, "of a whole body")
      end
    end
  end

  def test_lines_have_the_encoding_of_the_text
    latin = always("\xf6\n".b, fields: ["Content-Type: text/plain; charset=iso-8859-1"])
    with_origin("/l" => latin, "/b" => always("\xff\n".b)) do |client, origin|
      assert_equal(["ö\n".encode("ISO-8859-1")], client.get(origin.url("/l")).each_line.to_a)
      assert_equal(Encoding::BINARY, client.get(origin.url("/b")).each_line.first.encoding)
      assert_empty(client.get(origin.url("/b"), body: nil).tap { |response| response.body = "" }.each_line.to_a)
    end
  end

  def test_a_body_is_read_outside_of_a_block
    with_origin("/x" => chunked("ab", "cd")) do |client, origin|
      response = client.stream(:get, origin.url("/x"))
      assert_equal([200, nil, 1], [response.status, response.body, client.statistics[:busy]])
      assert_equal("abcd", response.each_piece.to_a.join)
      assert_equal([["x-sum", "1"]], response.trailers.map { |name, value| [name.downcase, value] })
      assert_operator(response.timings.first_byte, :>, 0)
      assert_equal(["/x", "GET"], [response.request.url.path, response.request.method])
      assert_idle(client)
      client.get(origin.url("/x"))
      assert_equal([1, 1], origin.requests.map(&:connection))
      assert_raises(Plait::UsageError) { response.each_piece { nil } }
      response.close
    end
  end

  def test_one_that_is_closed_gives_its_connection_back
    with_origin("/small" => chunked("ab"), "/endless" => ->(io, _) { loop { io.write("HTTP/1.1 200 OK\r\n\r\n") } }) do
      |client, origin|
      client.stream(:get, origin.url("/small")).close
      assert_idle(client)
      client.stream(:get, origin.url("/endless")).tap(&:close).close
      assert_idle(client)
      client.get(origin.url("/small"))
      assert_equal([1, 1, 2], origin.requests.map(&:connection))
    end
  end

  def test_reading_that_ends_early_gives_the_connection_back
    with_origin("/x" => chunked("a\nb\n", "c\n")) do |client, origin|
      assert_equal(%w[a b], client.stream(:get, origin.url("/x")).each_line(chomp: true).first(2))
      assert_idle(client)
      assert_raises(IndexError) { client.stream(:get, origin.url("/x")).each_piece { raise IndexError } }
      assert_idle(client)
    end
  end

  def test_one_that_is_forgotten_is_closed_by_the_garbage_collector
    with_origin("/x" => chunked("ab" * 100)) do |client, origin|
      Thread.new { 5.times { client.stream(:get, origin.url("/x")).status } }.join
      Thread.new { 100.times { Object.new } }.join
      wait_until { GC.start or client.statistics[:busy].zero? }
      assert_idle(client)
    end
  end

  def test_redirects_retries_and_codings_are_as_for_any_call
    failures = [answer("", status: "503 No")]
    coded = chunked(Zlib.gzip("x" * 1000), fields: ["Content-Encoding: gzip"])
    route = ->(io, request) { failures.any? ? io.write(failures.shift) : coded.call(io, request) }
    with_origin("/r" => redirect("/x"), "/x" => route, retries: { count: 1, base: 0.001 }) do |client, origin|
      response = client.stream(:get, origin.url("/r"), headers: { "X-Own" => "1" })
      assert_equal([true, 1], [response.decoded?, response.redirects.size])
      assert_equal(["x" * 1000, ["1"]], [response.each_piece.to_a.join, origin.requests.map { |request| request["x-own"] }.uniq])
      assert_idle(client)
    end
  end

  def test_errors_give_the_connection_back_and_name_the_request
    cut = ->(io, _) { io.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab") && false }
    with_origin("/none" => ->(_io, _) { false }, "/cut" => cut) do |client, origin|
      assert_raises(Plait::ConnectionClosed) { client.stream(:get, origin.url("/none")) }
      assert_idle(client)
      response = client.stream(:get, origin.url("/cut"))
      error = assert_raises(Plait::Error) { response.each_piece { nil } }
      assert_includes(error.message, "GET #{origin.url("/cut")}")
      assert_idle(client)
    end
  end

  def test_a_connection_that_the_server_closed_is_replaced
    with_origin do |client, origin|
      client.get(origin.url("/"))
      origin.hang_up
      assert_equal("GET /x ", client.stream(:get, origin.url("/x")).each_piece.to_a.join)
      assert_idle(client)
    end
  end

  def test_a_killed_thread_leaves_no_connection_in_use
    reached = Queue.new
    with_origin("/x" => ->(_io, _) { reached << 1 and sleep }) do |client, origin|
      thread = Thread.new { client.stream(:get, origin.url("/x")) }
      reached.pop
      thread.kill.join
      assert_idle(client)
    end
  end

  def test_calls_of_the_module_and_hooks
    seen = []
    ScriptedOrigin.open do |origin|
      hooks = { after: ->(call) { seen << call.response } }
      response = Plait::HTTP.stream(:post, origin.url("/x"), body: "1", proxy: false, hooks: hooks)
      assert_equal("POST /x 1", response.each_piece.to_a.join)
      assert_same(response, seen.first)
    end
  end

  def test_a_whole_body_may_be_closed_too
    with_origin { |client, origin| assert_nil(client.get(origin.url("/")).close) }
  end
end
