# frozen_string_literal: true

module ServerCases
  # What becomes of an app's [status, headers, body].
  module Answers
    def test_an_answer
      serve { [200, { "content-type" => "text/plain", "x-a" => %w[1 2] }, %w[Hello ! World]] }
      caller = connect
      answer = caller.get
      assert_equal(["Hello!World", "11", "text/plain"], [answer.body, *answer.fields.values_at("content-length", "content-type")])
      assert_includes(answer.head, "x-a: 1\r\nx-a: 2\r\n")
      assert_match(/\A\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\z/, answer.fields["date"])
      assert_equal(200, caller.get.status, "the connection is used again")
    end

    def test_values_of_rack_2_on_lines_of_their_own
      serve(lint: false) { [200, { "Set-Cookie" => "a=1\nb=2" }, []] }
      assert_includes(get.head, "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n")
    end

    def test_no_body_where_none_may_be
      serve(lint: false) { |env| [env["PATH_INFO"][1..].to_i, {}, ["no"]] }
      caller = connect
      [204, 304].each do |status|
        answer = caller.get("/#{status}")
        assert_equal([status, ""], [answer.status, answer.body])
      end
      assert_nil(caller.get("/204").fields["content-length"])
      assert_equal("no", caller.get("/200").body)
    end

    def test_head
      answers = { "/long" => [200, { "content-length" => "7" }, ["1234567"]], "/empty" => [200, {}, []] }
      serve { |env| answers.fetch(env["PATH_INFO"]) { [200, {}, ["1234567"]] } }
      caller = connect
      { "/long" => "7", "/none" => "7", "/empty" => nil }.each do |path, length|
        answer = caller.send("HEAD #{path} HTTP/1.1\r\nHost: a\r\n\r\n").hear(to_head: true)
        assert_equal([200, length], [answer.status, answer.fields["content-length"]], path)
      end
      assert_equal("1234567", caller.get("/long").body)
    end

    def test_old_clients
      serve_text
      caller = connect.send("GET / HTTP/1.0\r\n\r\n")
      assert_equal("close", caller.hear.fields["connection"])
      assert_closed(caller)
      caller = connect.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      assert_equal("keep-alive", caller.hear.fields["connection"])
      assert_equal("keep-alive", caller.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").hear.fields["connection"])
    end

    def test_who_wants_to_close_is_closed
      serve { |env| [200, env["PATH_INFO"] == "/app" ? { "connection" => "close" } : {}, ["x"]] }
      caller = connect
      assert_equal("close", caller.get("/", "Connection: close").fields["connection"])
      assert_closed(caller)
      caller = connect
      assert_equal("close", caller.get("/app").fields["connection"])
      assert_closed(caller)
    end

    def test_a_large_answer
      body = Random.new(2).bytes(5_000_000)
      serve { [200, {}, [body, body]] }
      caller = connect
      2.times { assert_equal(body + body, caller.get.body) }
    end

    def test_many_small_parts
      serve { [200, {}, Array.new(5_000) { |number| "#{number}," }] }
      assert_equal(Array.new(5_000) { |number| "#{number}," }.join, get.body)
    end

    def test_a_long_head
      serve { [200, (1..200).to_h { |number| ["x-#{number}", "v" * 100] }, ["x"]] }
      answer = get
      assert_equal(["x", "v" * 100, "v" * 100], [answer.body, answer.fields["x-1"], answer.fields["x-200"]])
    end

    def test_the_body_is_closed
      closed = Thread::Queue.new
      body = Class.new do
        define_method(:initialize) { |parts| @parts = parts }
        define_method(:each) { |&block| @parts.each(&block) }
        define_method(:close) { closed << @parts }
      end
      serve(lint: false) { |env| [env["PATH_INFO"] == "/204" ? 204 : 200, {}, body.new([env["PATH_INFO"]])] }
      caller = connect
      caller.get("/x")
      caller.get("/204")
      caller.send("HEAD /head HTTP/1.1\r\nHost: a\r\n\r\n").hear(to_head: true)
      assert_equal([["/x"], ["/204"], ["/head"]], Array.new(3) { closed.pop })
    end

    def test_a_body_is_closed_though_its_status_is_none
      closed = Thread::Queue.new
      body = Struct.new(:closed) { def close = closed << true }.new(closed)
      serve(lint: false) { [:ok, {}, body] }
      assert_equal(500, get.status)
      assert(closed.pop)
    end

    def test_who_wants_to_know_that_the_answer_is_over
      calls = Thread::Queue.new
      serve do |env|
        env["rack.response_finished"] << ->(*arguments) { calls << [:first, *arguments] }
        env["rack.response_finished"] << ->(*arguments) { calls << [:second, *arguments] }
        raise "boom" if env["PATH_INFO"] == "/fails"

        [201, { "x-a" => "1" }, []]
      end
      get
      assert_equal([[:second, 201, nil], [:first, 201, nil]], Array.new(2) { calls.pop.values_at(0, 2, 4) })
      get("/fails")
      name, _, status, _, error = calls.pop
      assert_equal([:second, nil, "boom"], [name, status, error.message])
    end

    def test_an_app_that_raises
      errors = { "/x" => KeyError, "/syntax" => NotImplementedError, "/security" => SecurityError, "/all" => Exception }
      serve(lint: false) { |env| env["PATH_INFO"] == "/" ? [200, {}, []] : raise(errors.fetch(env["PATH_INFO"]), "broken") }
      caller = connect
      answer = caller.get("/x")
      assert_equal([500, "close"], [answer.status, answer.fields["connection"]])
      refute_includes(answer.body, "broken")
      assert_match(%r{\AGET /x: .*broken \(KeyError\)}m, @errors.next)
      assert_closed(caller)
      %w[/syntax /security /all].each { |path| assert_equal(500, get(path).status) }
      assert_serves
    end

    # A signal comes to the main thread, and is none of the app's there.
    def test_an_app_that_raises_what_signals_raise
      serve(lint: false) { |env| env["PATH_INFO"] == "/" ? [200, {}, []] : raise(Interrupt) }
      assert_equal(500, get("/x").status)
      assert_serves
    end

    def test_an_app_that_leaves
      serve(lint: false) { |env| env["PATH_INFO"] == "/" ? [200, {}, []] : exit(3) }
      assert_equal(500, get("/x").status)
      assert_serves
    end

    # On fibers it would end all of them.
    def test_an_app_that_kills_its_thread
      return if mechanism != :threads

      serve(lint: false) do |env|
        env["rack.response_finished"] << ->(*) { raise "as well" }
        env["PATH_INFO"] == "/" ? [200, {}, []] : Thread.exit
      end
      20.times { assert_equal(500, get("/x").status) }
      assert_equal("GET /x: its thread was ended (Thread#kill, Thread.exit) before it was answered", @errors.next)
      assert_serves
    end
  end
end
