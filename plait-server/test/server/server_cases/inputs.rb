# frozen_string_literal: true

require "tmpdir"
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

    # While one is written others are read.
    def test_bodies_that_go_through_files_at_once
      serve(spool: 10_000, lint: false) { |env| [200, {}, [env["rack.input"].read.sum.to_s]] }
      sums = Array.new(8) do |number|
        body = Random.new(number).bytes(1_000_000)
        head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n"
        Thread.new { [body.sum.to_s, connect.send(head + body).hear.body] }
      end
      sums.each { |thread| assert_equal(*thread.value) }
    end

    def test_a_body_for_which_there_is_no_room
      folder = Dir.mktmpdir
      serve_text(spool: 1000, folder: folder)
      Dir.rmdir(folder)
      caller = connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n#{"x" * 500_000}")
      answer = caller.hear
      assert_equal([503, "5", "close"], [answer.status, *answer.fields.values_at("retry-after", "connection")])
      assert_equal(1, count(:exhausted))
      assert_serves
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
