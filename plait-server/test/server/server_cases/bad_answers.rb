# frozen_string_literal: true

module ServerCases
  # What an app returns that is no answer, or nearly none.
  module BadAnswers
    def test_what_is_wrong_with_a_triplet_is_told
      bad = { "two" => [[200, {}], /an app returns \[status, headers, body\], not \[200, {}\]/],
              "headers" => [[200, nil, []], /headers are a Hash of names and values, not nil/],
              "body" => [[200, {}, nil], /a body has each, or call, and NilClass has neither/],
              "text" => [[200, {}, "text"], /a body has each, or call, and String has neither/],
              "parts" => [[200, {}, [nil]], /a body yields Strings, not NilClass/] }
      serve(lint: false) { |env| bad.fetch(env["PATH_INFO"][1..]).first }
      bad.each do |name, (_, words)|
        assert_equal(500, get("/#{name}").status, name)
        assert_match(words, @errors.next)
      end
    end

    def test_a_status_that_is_none_is_told_by_what_the_app_has_returned
      statuses = ["abc", nil, :ok, 99, 100, 103, 1000, 10**30, -1, 2.5, Float::NAN, [], Object]
      serve(lint: false) { |env| [statuses.fetch(env["PATH_INFO"][1..].to_i), {}, []] }
      statuses.each_with_index do |status, index|
        assert_equal(500, get("/#{index}").status, status.inspect)
        assert_includes(@errors.next, "a status is 101, or a whole number from 200 to 999, not #{status.inspect} (ArgumentError)")
      end
    end

    # As before Rack 3, too.
    def test_a_status_that_is_as_good_as_a_number
      statuses = ["201", 201.0]
      serve(lint: false) { |env| [statuses.fetch(env["PATH_INFO"][1..].to_i), {}, []] }
      statuses.each_index { |index| assert_equal(201, get("/#{index}").status) }
    end

    # As before Rack 3.
    def test_headers_that_are_pairs
      serve(lint: false) { [200, [%w[x-a 1], %w[x-b 2]], ["text"]] }
      answer = get
      assert_equal([200, "1", "2", "text"], [answer.status, *answer.fields.values_at("x-a", "x-b"), answer.body])
    end

    def test_bad_triplets
      bad = { "nil" => nil, "two" => [200, {}], "status" => [:ok, {}, []], "low" => [99, {}, []], "body" => [200, {}, [1]],
              "value" => [200, { "x-a" => "a\r\nx-b: c" }, []], "name" => [200, { "x a" => "1" }, []],
              "length" => [200, { "content-length" => "3" }, ["four"]], "no_length" => [200, { "content-length" => "x" }, []],
              "lengths" => [200, { "content-length" => %w[3 4] }, ["four"].each], "no_body" => [200, {}, nil],
              "huge" => [200, { "content-length" => "9" * 20 }, ["four"].each] }
      serve(lint: false) { |env| bad.fetch(env["PATH_INFO"][1..]) { [200, {}, []] } }
      bad.each_key do |name|
        assert_equal(500, get("/#{name}").status, name)
        refute_empty(@errors.next)
      end
      assert_serves
    end

    # The client has all of it.
    def test_a_body_that_can_not_be_closed_cuts_no_answer
      serve(lint: false) do |env|
        parts = %w[ab cd]
        body = env["PATH_INFO"] == "/array" ? Struct.new(:to_ary).new(parts) : parts.each
        body.define_singleton_method(:close) { raise "boom" }
        [200, {}, body]
      end
      caller = connect
      %w[/array /each /array].each do |path|
        assert_equal("abcd", caller.get(path).body)
        assert_match(/boom/, @errors.next)
      end
    end

    # The app rescues the error. What was not sent must not be taken for sent.
    def test_a_write_that_failed_is_no_part_of_an_answer
      size = 8 * 1024 * 1024
      failed = nil
      stream = lambda do |out|
        out.write("a" * size)
      rescue IOError => e
        failed = e
      ensure
        out.close
      end
      serve(lint: false, write_timeout: 0.5) do |env|
        env["PATH_INFO"] == "/2" ? [200, {}, ["second"]] : [200, { "content-length" => size.to_s }, stream]
      end
      socket = Socket.new(:INET, :STREAM).tap { |one| one.setsockopt(:SOCKET, :RCVBUF, 65_536) }
      socket.connect(Addrinfo.tcp(@endpoint.host, @endpoint.port))
      caller = Caller.new(socket).tap { |one| @callers << one }
      caller.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { failed && count(:running).zero? }
      refute_includes(caller.rest, "second")
    end
  end
end
