# frozen_string_literal: true

require "digest"
require "json"
require "net/http"
require "uri"

module Frameworks
  # What an app of any framework does on any mechanism. Who includes it says `server`.
  module Cases
    CALLERS = 12
    EACH = 10

    def test_pages
      assert_equal("hello", get("/").body)
      assert_equal("a b&ü", get("/query?q=#{URI.encode_www_form_component("a b&ü")}").body.force_encoding("UTF-8"))
      assert_nil(http { |connection| connection.head("/") }.body)
    end

    def test_posts
      assert_equal("J. Ü", post("/form", "name=J.+%C3%9C").body.force_encoding("UTF-8"))
      answer = post("/json", JSON.generate(numbers: [1, 2, 3]), "Content-Type" => "application/json")
      assert_equal({ "sum" => 6 }, JSON.parse(answer.body))
    end

    def test_a_session_goes_on_after_a_redirect
      answer = post("/login", "user=ann")
      assert_includes(%w[302 303], answer.code)
      assert_equal("/me", URI(answer["location"]).path)
      cookie = answer["set-cookie"][/\A[^;]+/]
      assert_equal("ann", get("/me", "Cookie" => cookie).body)
      assert_empty(get("/me").body.to_s)
    end

    def test_what_is_streamed_arrives_while_it_is_made
      parts = []
      http do |connection|
        connection.request_get("/stream?key=#{key = Random.hex(8)}") do |answer|
          answer.read_body do |part|
            post("/release", "key=#{key}") if parts.empty?
            parts << part
          end
        end
      end
      assert_equal(%W[begun\n ended\n], parts)
    end

    def test_an_upload
      bytes = Random.bytes(300_000)
      request = Net::HTTP::Post.new("/upload")
      request.set_form([["file", bytes, { filename: "a.bin", content_type: "application/octet-stream" }]], "multipart/form-data")
      assert_equal("a.bin #{Digest::SHA256.hexdigest(bytes)}", http { |connection| connection.request(request) }.body)
    end

    def test_a_file_is_sent
      answer = get("/file")
      assert_equal("300000", answer["content-length"])
      assert_equal(File.binread(server.file), answer.body)
    end

    def test_errors_have_pages_and_the_server_goes_on
      assert_equal("404", get("/nowhere").code)
      assert_equal("500", get("/broken").code)
      assert_equal("hello", get("/").body)
    end

    # What is said of "the current" thread, fiber or request is that of nobody else.
    def test_no_request_sees_the_locals_of_another
      in_parallel("/whoami") { |id, body| assert_equal([id], body.split.uniq) }
    end

    def test_what_computes_is_answered_right_wherever_it_runs
      in_parallel("/compute", each: 4) { |id, body| assert_equal(id, body) }
    end

    private

    def http(&block) = Net::HTTP.start(server.host, server.port, read_timeout: 30, &block)

    def get(path, headers = {}) = http { |connection| connection.get(path, headers) }

    def post(path, body, headers = {}) = http { |connection| connection.post(path, body, headers) }

    def in_parallel(path, each: EACH, &check)
      threads = Array.new(CALLERS) do |caller|
        Thread.new do
          http { |connection| Array.new(each) { |i| [id = "#{caller}0#{i}", connection.get("#{path}?id=#{id}").body] } }
        end
      end
      threads.flat_map(&:value).each(&check)
    end
  end
end
