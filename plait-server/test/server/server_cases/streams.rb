# frozen_string_literal: true

require "tempfile"
require "tmpdir"

module ServerCases
  # Answers in pieces, and files.
  module Streams
    # A body that is no Array.
    class Pieces
      def initialize(*parts, &raising)
        @parts = parts
        @raising = raising
      end

      def each(&block)
        @parts.each(&block)
        @raising&.call
      end
    end

    def test_a_body_that_raises_in_the_middle
      serve { |env| [200, {}, env["PATH_INFO"] == "/" ? [] : Pieces.new("a") { raise "half" }] }
      bytes = connect.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n").rest
      assert_includes(bytes, "1\r\na\r\n")
      refute_includes(bytes, "0\r\n\r\n", "what is cut is not taken for whole")
      assert_includes(@errors.next, "half")
      assert_serves
    end

    def test_a_body_of_another_length
      serve(lint: false) { |env| [200, { "content-length" => "3" }, Pieces.new(*env["PATH_INFO"][1..].chars)] }
      assert(connect.send("GET /ab HTTP/1.1\r\nHost: a\r\n\r\n").rest.end_with?("\r\n\r\nab"))
      assert_includes(@errors.next, "content-length is 3")
      assert(connect.send("GET /abcd HTTP/1.1\r\nHost: a\r\n\r\n").rest.end_with?("\r\n\r\nabc"))
      assert_includes(@errors.next, "goes on after that")
      assert_equal(500, get("/").status, "nothing was sent yet")
      assert_includes(@errors.next, "but its body has 0 bytes")
    end

    def test_a_slow_reader_is_waited_for
      part = "x" * 100_000
      written = 0
      pieces = Enumerator.new { |out| 400.times { (written += 1) && (out << part) } }
      serve { |env| [200, {}, env["PATH_INFO"] == "/" ? [] : pieces] }
      caller = connect.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { written.positive? && assert_serves }
      assert_operator(written, :<, 400, "all was written to somebody who reads nothing")
      assert_equal(40_000_000, caller.hear.body.bytesize)
    end

    # An interrupt can lose such an IO. A garbage collection then closes no connection by it.
    def test_no_io_that_is_made_to_wait_by_closes_its_descriptor
      made = ios_made do
        serve { [200, {}, Enumerator.new { |out| 40.times { out << ("x" * 1_000_000) } }] }
        assert_equal(40_000_000, connect.get.body.bytesize)
      end
      assert_equal([false], made.select { |kind,| kind == IO }.map { |_, closes| closes }.uniq)
    end

    # The kernel tells once that there is room for more, and does so while the app is still at work.
    def test_a_reader_is_not_waited_for_by_the_app_that_goes_on
      over = Thread::Queue.new
      body = Struct.new(:to_ary, :over) { def close = over.pop }.new(["x" * 8_000_000], over)
      serve(lint: false) { [200, {}, body] }
      assert_equal(8_000_000, connect.get.body.bytesize)
    ensure
      over << true
    end

    # What is sent later is what was returned.
    def test_an_app_that_goes_on_to_use_what_it_has_returned
      over = Thread::Queue.new
      serve(lint: false) do |env|
        parts = Array.new(3) { |number| number.to_s * 5_000_000 }
        env["rack.response_finished"] << lambda do |*|
          parts.each { |part| part.setbyte(0, 120) && part.clear }
          over << true
        end
        [200, {}, parts.dup]
      end
      caller = connect
      2.times do
        caller.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        over.pop
        assert_equal(("0" * 5_000_000) + ("1" * 5_000_000) + ("2" * 5_000_000), caller.hear.body)
      end
    end

    def test_large_parts
      serve(lint: false) do |env|
        parts = ["a", "b" * 1_000_000, "", "c" * 131_072, "d" * 131_073]
        [200, env["PATH_INFO"] == "/length" ? { "content-length" => parts.sum(&:bytesize).to_s } : {}, parts.each]
      end
      caller = connect
      %w[/ /length].each do |path|
        assert_equal("a#{"b" * 1_000_000}#{"c" * 131_072}#{"d" * 131_073}", caller.get(path).body)
      end
    end

    def test_a_body_that_is_called
      body = lambda do |stream|
        stream.write("Hello")
        stream << ", " << "World"
        stream.close
      end
      serve { [200, {}, body] }
      caller = connect
      2.times { assert_equal("Hello, World", caller.get.body) }
    end

    def test_a_file
      Tempfile.create("served") do |file|
        file.write(content = Random.new(3).bytes(3_000_000))
        file.flush
        body = Struct.new(:to_path) { def each = yield("not this") }
        serve(lint: false) { [200, {}, body.new(file.path)] }
        caller = connect
        2.times { assert_equal([content, "3000000"], [(answer = caller.get).body, answer.fields["content-length"]]) }
      end
    end

    def test_a_file_that_grows
      Tempfile.create("served") do |file|
        file.write("0123456789")
        file.flush
        body = Struct.new(:to_path) { def each = yield("not this") }
        serve(lint: false) { [200, { "content-length" => "4" }, body.new(file.path)] }
        caller = connect
        2.times { assert_equal("0123", caller.get.body) }
      end
    end

    # What is no file, or has a content but no size.
    def test_paths_that_are_no_files
      paths = { "/folder" => Dir.tmpdir, "/none" => "/nonexistent", "/nil" => nil, "/pipe" => fifo }
      body = Struct.new(:to_path) { def each = yield("pieces") }
      serve(lint: false) { |env| [200, {}, body.new(paths.fetch(env["PATH_INFO"], "/proc/self/status"))] }
      paths.each_key { |path| assert_equal("pieces", get(path).body, path) }
      assert_match(/^Pid:\t#{Process.pid}$/, get("/status").body)
    ensure
      File.delete(paths["/pipe"])
    end

    def test_early_hints
      serve(early_hints: true) do |env|
        env["rack.early_hints"]&.call("link" => ["</a.css>; rel=preload", "</b.css>; rel=preload"])
        raise "late" if env["PATH_INFO"] == "/fails"

        [200, {}, ["done"]]
      end
      caller = connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      hints = caller.hear
      assert_equal([103, "done"], [hints.status, caller.hear.body])
      assert_includes(hints.head, "link: </a.css>; rel=preload\r\nlink: </b.css>; rel=preload\r\n")
      assert_match(%r{\AHTTP/1.1 200 }, connect.send("GET / HTTP/1.0\r\n\r\n").rest, "old clients don't know them")
      caller.send("GET /fails HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal([103, 500], [caller.hear.status, caller.hear.status])
    end

    private

    # Nobody writes to it.
    def fifo = File.join(Dir.tmpdir, "plait-fifo-#{Process.pid}-#{object_id}").tap { |path| File.mkfifo(path) }
  end
end
