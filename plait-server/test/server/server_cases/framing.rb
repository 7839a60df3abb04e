# frozen_string_literal: true

module ServerCases
  # Where an answer ends, and whether the next one can be told from it. An Array of Strings goes out by C, all else by Ruby:
  # both have to say the same.
  module Framing
    # Answers each path as told, by an Array; below /each in pieces.
    def serve_answers(answers)
      serve(lint: false) do |env|
        path = env["PATH_INFO"]
        name = path.delete_prefix("/each")
        status, headers, body = answers.fetch(name) { [200, {}, ["next"]] }
        body = Streams::Pieces.new(*body) if path.start_with?("/each") && body.is_a?(Array)
        [status, headers.dup, body]
      end
    end

    # @yieldparam path [String] by which it goes out
    def by_both_paths(name)
      yield name
      yield "/each#{name}"
    end

    def assert_in_step(caller) = assert_equal("next", caller.get("/next").body, "the next answer on this connection")

    def head_of(caller, path) = caller.send("HEAD #{path} HTTP/1.1\r\nHost: a\r\n\r\n").hear(to_head: true)

    def test_an_answer_that_names_other_protocols_ends_where_others_do
      serve_answers("/426" => [426, { "upgrade" => "websocket" }, ["use ws"]], "/200" => [200, { "Upgrade" => "h2" }, ["ok"]])
      { "/426" => [426, "use ws"], "/200" => [200, "ok"] }.each do |name, expected|
        by_both_paths(name) do |path|
          answer = (caller = connect).get(path)
          assert_equal([*expected, "upgrade"], [answer.status, answer.body, answer.fields["connection"]], path)
          assert_match(/^upgrade: /i, answer.head)
          assert_in_step(caller)
        end
      end
    end

    # Who takes the answer for a tunnel's beginning sends through it what others have given him.
    def test_what_follows_connect_is_no_request
      seen = Thread::Queue.new
      serve(lint: false) do |env|
        seen << env["PATH_INFO"]
        status, kind = env.values_at("HTTP_X_STATUS", "HTTP_X_KIND")
        [status.to_i, { "content-length" => "4" }, kind == "array" ? ["done"] : Streams::Pieces.new("done")]
      end
      [200, 404].product(%w[array each]).each do |status, kind|
        caller = connect.send("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\nX-Status: #{status}\r\nX-Kind: #{kind}\r\n\r\n" \
                              "GET /smuggled HTTP/1.1\r\nHost: b\r\n\r\n")
        head, body = caller.rest.split("\r\n\r\n", 2)
        assert_equal(["a:443", "done", 0], [seen.pop, body, seen.size], "#{status} #{kind}")
        assert_match(/^connection: close\r?$/, head)
        assert_equal(status == 404, head.match?(/^(content-length|transfer-encoding):/), head)
      end
    end

    # What the peer sends as another protocol would be taken for requests.
    def test_a_switch_that_nobody_takes
      serve_answers("/101" => [101, { "upgrade" => "websocket", "connection" => "upgrade" }, []])
      by_both_paths("/101") do |path|
        caller = connect
        assert_equal([500, "close"], [(answer = caller.get(path)).status, answer.fields["connection"]])
        assert_closed(caller)
        assert_includes(@errors.next, "rack.hijack")
      end
    end

    def test_statuses_that_are_no_answers
      serve_answers([100, 102, 103, 199].to_h { |status| ["/#{status}", [status, {}, ["x"]]] })
      %w[/100 /102 /103 /199].each do |name|
        by_both_paths(name) { |path| assert_equal(500, get(path).status, path) }
      end
    end

    def test_nothing_follows_the_head_where_no_body_may_be
      writing = ->(stream) { stream.write("BODY") && stream.close }
      answers = { "/hijack" => [200, { "rack.hijack" => writing }, []], "/called" => [200, {}, writing],
                  "/array" => [200, {}, ["BODY"]] }
      answers = answers.merge("/204" => [204, { "rack.hijack" => writing }, []], "/304" => [304, {}, writing])
      serve_answers(answers)
      %w[/hijack /called /array /each/array].each do |path|
        caller = connect
        assert_equal(200, head_of(caller, path).status)
        assert_in_step(caller)
      end
      %w[/204 /304].each do |path|
        caller = connect
        caller.get(path)
        assert_in_step(caller)
      end
    end

    def test_refusals_of_head_have_no_body
      serve(lint: false) { raise "boom" }
      bytes = connect.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").rest
      assert_match(%r{\AHTTP/1.1 500 .*\r\n\r\n\z}m, bytes)
      assert_match(/failed\n\z/, connect.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest)
    end

    def test_values_go_out_alike
      values = { "trailing" => "a\n", "lines" => "a\n\nb", "space" => " a\t", "empty" => "", "several" => ["a ", "b\nc"],
                 "nothing" => nil, "number" => 5, "bytes" => "\xff" }
      expected = { "trailing" => %w[a], "lines" => %w[a b], "space" => %w[a], "empty" => [""], "several" => %w[a b c],
                   "nothing" => [], "number" => %w[5], "bytes" => ["\xff".b] }
      serve_answers(values.to_h { |name, value| ["/#{name}", [200, { "X-Value" => value }, []]] })
      expected.each do |name, lines|
        by_both_paths("/#{name}") { |path| assert_equal(lines, get(path).head.scan(/^X-Value: (.*)\r$/).flatten, path) }
      end
    end

    def test_words_of_connection
      closing = { "/close" => "close", "/Close" => "keep-alive, Close", "/list" => %w[x close] }
      others = { "/closed" => "closed", "/not" => "not-close", "/alive" => "keep-alive" }
      serve_answers(closing.merge(others).transform_values { |value| [200, { "Connection" => value }, ["x"]] })
      closing.each_key { |name| by_both_paths(name) { |path| assert_equal("close", get(path).fields["connection"], path) } }
      others.each_key { |name| by_both_paths(name) { |path| assert_nil(get(path).fields["connection"], path) } }
    end

    def test_codings_of_the_app
      serve_answers("/chunked" => [200, { "transfer-encoding" => "chunked" }, ["2\r\nab\r\n0\r\n\r\n"]],
                    "/identity" => [200, { "transfer-encoding" => "identity" }, ["ab"]],
                    "/gzip" => [200, { "transfer-encoding" => "gzip" }, ["ab"]])
      caller = connect
      assert_equal("ab", caller.get("/chunked").body)
      assert_in_step(caller)
      { "/identity" => nil, "/gzip" => "gzip" }.each do |path, coding|
        caller = connect
        answer = caller.get(path)
        assert_equal(["close", coding, "ab"], [*answer.fields.values_at("connection", "transfer-encoding"), answer.body])
        assert_closed(caller)
      end
      assert_match(%r{\AHTTP/1.1 500 }, connect.send("GET /chunked HTTP/1.0\r\n\r\n").rest)
      assert_nil(head_of(caller = connect, "/gzip").fields["transfer-encoding"])
      assert_in_step(caller)
    end

    # For a client of HTTP/1.0 the answer ends with the connection: it has to see that it was cut.
    def test_what_was_cut_is_no_whole_for_old_clients
      serve(lint: false) { [200, {}, Streams::Pieces.new("half") { raise "boom" }] }
      caller = connect.send("GET / HTTP/1.0\r\n\r\n")
      assert_raises(Errno::ECONNRESET) { loop { caller.socket.readpartial(1 << 16) } }
    end

    def test_hints_that_come_too_late_are_not_sent
      serve(early_hints: true) do |env|
        pieces = Enumerator.new do |out|
          out << "aa"
          env["rack.early_hints"].call("link" => "</a.css>")
          out << "bb"
        end
        [200, { "content-length" => "4" }, pieces]
      end
      assert_equal("aabb", get.body)
    end

    def test_the_last_request_of_a_connection_is_told
      serve(requests: 2, lint: false) { |env| [200, {}, env["PATH_INFO"] == "/" ? ["x"] : Streams::Pieces.new("x")] }
      %w[/ /each].each do |path|
        caller = connect
        assert_equal([nil, "close"], Array.new(2) { caller.get(path).fields["connection"] })
        assert_closed(caller)
      end
    end
  end
end
