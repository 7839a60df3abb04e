# frozen_string_literal: true

module ServerCases
  # What an app finds in its env.
  module Requests
    # Serves what tells the test its env.
    def serve_env(**options)
      @envs = Thread::Queue.new
      serve(**options) do |env|
        @envs << env.merge("body" => env["rack.input"].read)
        [200, {}, []]
      end
    end

    # @return [Hash] the env of a request in raw bytes
    def env_of(bytes)
      serve_env unless @server
      answer = connect.send(bytes).hear(to_head: bytes.start_with?("HEAD"))
      assert_equal(200, answer.status, -> { @errors.empty? ? answer.body : @errors.next })
      @envs.pop
    end

    # As some clients send them; what they mean is the app's.
    def test_bytes_above_127_in_a_target
      seen = Thread::Queue.new
      serve { |env| (seen << env.values_at("PATH_INFO", "QUERY_STRING")) && [200, {}, []] }
      assert_equal(200, get("/caf\u00e9/\xFF?q=\u00e9").status)
      path, query = seen.pop
      assert_equal(["/caf\u00e9/\xFF".b, "q=\u00e9".b], [path, query])
      assert_equal([Encoding::BINARY] * 2, [path.encoding, query.encoding])
      ["/\u00e9\x7F", "/\u00e9\0", "/\u00e9 x"].each { |target| assert_equal(400, get(target).status) }
    end

    def test_the_env_of_a_request
      env = env_of("GET /a%20b/c?x=1&y HTTP/1.1\r\nHost: example.com:8080\r\nX-Some-Thing: 7\r\nCookie: a=1\r\n\r\n")
      expected = {
        "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/a%20b/c", "QUERY_STRING" => "x=1&y",
        "SERVER_NAME" => "example.com", "SERVER_PORT" => "8080", "SERVER_PROTOCOL" => "HTTP/1.1",
        "HTTP_HOST" => "example.com:8080", "HTTP_X_SOME_THING" => "7", "HTTP_COOKIE" => "a=1",
        "REMOTE_ADDR" => "127.0.0.1", "rack.url_scheme" => "http", "rack.hijack?" => true, "body" => ""
      }
      assert_equal(expected, env.slice(*expected.keys))
    end

    def test_fields_that_come_more_than_once
      fields = ["X-A: 1", "x-a: 2", "Cookie: a=1", "Cookie: b=2", "Accept: x", "Accept: y"]
      env = env_of("GET / HTTP/1.1\r\nHost: a\r\n#{fields.join("\r\n")}\r\n\r\n")
      assert_equal(["1, 2", "a=1; b=2", "x, y"], env.values_at("HTTP_X_A", "HTTP_COOKIE", "HTTP_ACCEPT"))
    end

    # "X_A" and "X-A" would be one key: whoever checks one of them upstream has not seen the other.
    def test_a_name_with_an_underscore_is_ignored
      env = env_of("GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX_A: 2\r\nContent_Length: 5\r\n\r\n")
      assert_equal(["1", nil], env.values_at("HTTP_X_A", "CONTENT_LENGTH"))
    end

    def test_a_long_name_and_one_that_is_taken_for_the_protocols
      env = env_of("GET / HTTP/1.1\r\nHost: a\r\nVersion: HTTP/9\r\nX-#{"a-" * 300}b: 1\r\n\r\n")
      assert_equal([nil, "1"], env.values_at("HTTP_VERSION", "HTTP_X_#{"A_" * 300}B"))
    end

    def test_complaints_go_where_standard_error_is_now
      before = $stderr
      errors = Thread::Queue.new
      serve(lint: false, complain: false) { |env| (errors << env["rack.errors"]) && [200, {}, []] }
      get
      $stderr = StringIO.new
      get
      assert_equal([before, $stderr], Array.new(2) { errors.pop })
    ensure
      $stderr = before
    end

    def test_many_fields
      fields = (1..100).to_h { |number| ["X-Field-#{number}", number.to_s] }
      env = env_of("GET / HTTP/1.1\r\nHost: a\r\n#{fields.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n")
      fields.each { |name, value| assert_equal(value, env["HTTP_#{name.upcase.tr("-", "_")}"]) }
    end

    # More than there are places to remember names in.
    def test_many_fields_that_come_twice
      names = (1..100).map { |number| "X-Field-#{number}" }
      fields = (names + names.map(&:downcase)).each_with_index.map { |name, index| "#{name}: #{index}\r\n" }
      env = env_of("GET / HTTP/1.1\r\nHost: a\r\n#{fields.first(120).join}\r\n")
      names.each_with_index do |name, index|
        assert_equal(index < 20 ? "#{index}, #{index + 100}" : index.to_s, env["HTTP_#{name.upcase.tr("-", "_")}"])
      end
    end

    def test_forms_of_the_target
      serve_env
      env = env_of("GET http://other.example:81/p?q=1 HTTP/1.1\r\nHost: example.com\r\n\r\n")
      assert_equal(%w[/p q=1 other.example 81 other.example:81],
                   env.values_at("PATH_INFO", "QUERY_STRING", "SERVER_NAME", "SERVER_PORT", "HTTP_HOST"))
      assert_equal("/", env_of("GET http://other.example HTTP/1.1\r\nHost: a\r\n\r\n")["PATH_INFO"])
      assert_equal("*", env_of("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")["PATH_INFO"])
    end

    def test_methods
      serve_env
      %w[GET HEAD POST PUT PATCH DELETE PROPFIND].each do |name|
        env = env_of("#{name} / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert_equal([name, "0"], env.values_at("REQUEST_METHOD", "CONTENT_LENGTH"))
      end
    end

    def test_byte_by_byte
      serve_env
      caller = connect
      ["GET /1 HTTP/1.1\r\nHost: a\r\n\r\n",
       "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
       "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"].each do |bytes|
        bytes.each_char { |byte| caller.send(byte) }
        assert_equal(200, caller.hear.status)
      end
      assert_equal([["/1", ""], ["/2", "abc"], ["/3", "abc"]], Array.new(3) { @envs.pop.values_at("PATH_INFO", "body") })
    end

    # The second caller is answered after what the first has sent was read.
    def test_one_empty_line_goes_before_a_request_and_not_two
      serve_text
      caller = connect
      2.times do
        caller.send("\r\n")
        assert_serves
      end
      assert_equal(400, caller.get.status)
    end

    def test_pipelined_requests_in_order
      serve { |env| [200, {}, [env["PATH_INFO"], env["rack.input"].read]] }
      requests = (1..300).map do |number|
        next "GET /#{number} HTTP/1.1\r\nHost: a\r\n\r\n" if number.odd?

        "POST /#{number} HTTP/1.1\r\nHost: a\r\nContent-Length: #{number}\r\n\r\n#{"x" * number}"
      end
      caller = connect.send(requests.join)
      (1..300).each { |number| assert_equal("/#{number}#{"x" * number if number.even?}", caller.hear.body) }
    end
  end
end
