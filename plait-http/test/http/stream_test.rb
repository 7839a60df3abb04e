# frozen_string_literal: true

require_relative "scripted_origin"
require "pathname"
require "stringio"
require "support/fresh_ruby"
require "tmpdir"
require "zlib"

# Bodies that are read outside of a block, and line by line.
class HTTPStreamTest < Minitest::Test
  include ClientCases

  LINES = "one\ntwo\r\n\nw\u00f6rter\nlast"

  # @yieldparam to [String, Pathname, #write] each kind that a body is saved to
  def assert_saved(body)
    Dir.mktmpdir do |folder|
      paths = %w[a b c].map { |name| File.join(folder, name) }
      File.open(paths.last, "wb") do |file|
        text = StringIO.new("".b)
        [paths[0], Pathname(paths[1]), file, text].each { |to| assert_equal(body.bytesize, yield(to)) }
        assert_equal(body, text.string)
      end
      paths.each { |path| assert_equal(body, File.binread(path)) }
    end
  end

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

  def test_a_body_is_saved
    body = Random.new(1).bytes(300_000)
    zipped = ["Content-Encoding: gzip"]
    pages = { "/whole" => always(body), "/pieces" => chunked(*body.scan(/.{1,70000}/mn)), "/none" => always(""),
              "/zipped" => always(Zlib.gzip(body), fields: zipped), "/zipped/pieces" => chunked(Zlib.gzip(body), fields: zipped) }
    with_origin(**pages) do |client, origin|
      pages.each_key do |path|
        wanted = path == "/none" ? "" : body
        kept = client.get(origin.url(path))
        assert_saved(wanted) { |to| client.get(origin.url(path)) { |response| break response.save(to) } }
        assert_saved(wanted) { |to| client.stream(:get, origin.url(path)).save(to) }
        assert_saved(wanted) { |to| kept.save(to) }
      end
    end
  end

  # It may keep the Strings.
  def test_a_block_is_not_for_a_stream
    [Plait::HTTP, Plait::HTTP::Client.new].each do |caller|
      assert_raises(Plait::UsageError) { caller.stream(:get, "http://127.0.0.1:1/") { flunk } }
    end
  end

  def test_a_body_that_is_gone_empties_no_file
    Dir.mktmpdir do |folder|
      path = File.join(folder, "a")
      with_origin("/x" => always("hello")) do |client, origin|
        open = client.stream(:get, origin.url("/x"))
        kept = nil
        client.get(origin.url("/x")) do |response|
          (kept = response).save(path)
          assert_raises(Plait::UsageError) { response.save(path) }
          assert_raises(Plait::UsageError) { response.each_piece { flunk } }
        end
        assert_match(/\Asave takes a path/, assert_raises(Plait::UsageError) { open.save(nil) }.message)
        assert_equal(5, open.save(path))
        [open, kept].each { |response| assert_raises(Plait::UsageError) { response.save(path) } }
        assert_equal("hello", File.read(path))
      end
    end
  end

  def test_a_body_is_saved_to_any_object_that_is_written_to
    body = Random.new(1).bytes(300_000)
    pieces = []
    pieces.define_singleton_method(:write) { |piece| self << piece }
    with_origin("/x" => always(body)) do |client, origin|
      assert_equal(300_000, client.get(origin.url("/x")) { |response| response.save(pieces) })
      assert_equal(body, pieces.join)
    end
  end

  def test_a_body_that_is_cut_is_an_error_where_it_is_saved
    cut = ->(io, _) { io.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n#{"x" * 70_000}") && io.close }
    with_origin("/cut" => cut) do |client, origin|
      Dir.mktmpdir do |folder|
        path = File.join(folder, "cut")
        assert_raises(Plait::TruncatedError) { client.get(origin.url("/cut")) { |response| response.save(path) } }
        assert_equal(70_000, File.size(path))
        assert_raises(Errno::ENOENT) { client.get(origin.url("/cut")) { |response| response.save(File.join(folder, "no", "x")) } }
      end
    end
  end

  # From Ruby 3.3 on a finalizer runs in the ractor that has collected the garbage.
  FORGOTTEN = <<~'RUBY'
    require "plait/http"
    require "socket"
    require "support/ractors"
    require "support/waiting"
    Thread.report_on_exception = false
    server = TCPServer.new("127.0.0.1", 0)
    Thread.new do
      loop do
        Thread.new(server.accept) do |peer|
          nil until peer.gets == "\r\n"
          peer.write("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", "x" * 100_000) && sleep
        end
      end
    end
    client = Plait::HTTP::Client.new(pool: { per_key: 4 })
    Thread.new { 4.times { client.stream(:get, "http://127.0.0.1:#{server.addr[1]}/") } }.join
    own = Ractor.new { 10.times { GC.start } }
    Support::Ractors.value(own)
    Support::Waiting.wait_until(what: "their end") { GC.start || client.statistics[:busy] <= 1 } # a stack may hold the last
    print("ended")
  RUBY

  def test_those_that_are_forgotten_end_whichever_ractor_collects_them
    skip("this Ruby has no ractors") unless defined?(Ractor)

    result = Support::FreshRuby.run(FORGOTTEN, flags: ["-W0"])
    assert_equal(["ended", ""], [result.out, result.err])
  end

  def test_one_that_is_closed_gives_its_connection_back
    whole = ->(io, _) { io.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n") }
    with_origin("/small" => whole, "/endless" => ->(io, _) { loop { io.write("HTTP/1.1 200 OK\r\n\r\n") } }) do |client, origin|
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
