# frozen_string_literal: true

require_relative "requests"

module ServerCases
  # What an app finds as its input.
  module Inputs
    include Requests

    CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    def test_a_body
      env = env_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
      assert_equal(%w[hello 5 text/plain], env.values_at("body", "CONTENT_LENGTH", "CONTENT_TYPE"))
      refute(env.key?("HTTP_CONTENT_TYPE"))
    end

    def test_a_chunked_body_is_a_body_of_known_length
      env = env_of("#{CHUNKED}5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n")
      assert_equal(["hello world", "11", nil], env.values_at("body", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING"))
    end

    def test_a_large_body_goes_through_a_file
      body = Random.new(1).bytes(3_000_000)
      serve_env(spool: 100_000)
      head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n"
      assert_equal(body, env_of(head + body)["body"])
      chunked = body.scan(/.{1,70000}/mn).map { |part| "#{part.bytesize.to_s(16)}\r\n".b << part << "\r\n" }.join
      assert_equal(body, env_of(CHUNKED.b << chunked << "0\r\n\r\n")["body"])
    end

    def test_the_input_tells_its_size_wherever_it_is_kept
      serve(spool: 1000, lint: false) { |env| [200, {}, [env["rack.input"].size.to_s]] }
      [0, 999, 5000].each do |size|
        caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{size}\r\n\r\n#{"x" * size}")
        assert_equal(size.to_s, caller.hear.body)
      end
    end

    def test_go_on
      serve_env
      caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
      assert_equal(100, caller.hear.status)
      assert_equal(200, caller.send("ok").hear.status)
      assert_equal("ok", @envs.pop["body"])
    end

    def test_no_invitation_for_what_is_there
      serve_env
      caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok")
      assert_equal(200, caller.hear.status)
    end
  end
end
