# frozen_string_literal: true

require "test_helper"
require "support/conformance/http1_lenient"
require "support/program"
require "open3"
require "plait/http"

# Answers that break a rule which curl lets pass, by the calls of a client, beside curl.
class HTTPLenientTest < Minitest::Test
  HTTP = Plait::HTTP
  CURL = Support::Program.new("curl", apt: "curl")

  Conformance::HTTP1_LENIENT.each do |sample|
    define_method(:"test_a_client_reads_#{sample.name.tr(" ", "_")}") do
      serve(sample) do |url|
        HTTP::Client.open(proxy: false) do |client|
          2.times { assert_read(sample, client.get(url)) }
          client.fan_out([url, url]) { |response| assert_read(sample, response) }
          client.get(url) { |response| assert_equal(sample.body, response.each_piece.to_a.join) }
        end
      end
    end

    define_method(:"test_curl_reads_#{sample.name.tr(" ", "_")}") do
      curl = CURL.path!
      serve(sample) do |url|
        body, status = Open3.capture2(curl, "--silent", "--noproxy", "*", "--max-time", "60", url)
        assert_equal([sample.body, true], [body, status.success?])
      end
    end

    define_method(:"test_a_strict_client_refuses_#{sample.name.tr(" ", "_")}") do
      serve(sample) do |url|
        HTTP::Client.open(proxy: false, strict: true) { |client| assert_raises(Plait::RemoteProtocolError) { client.get(url) } }
      end
    end
  end

  private

  # A connection an answer.
  def serve(sample)
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { answer(server.accept, sample.bytes) } }
    yield "http://127.0.0.1:#{server.addr[1]}/"
  ensure
    thread&.kill&.join
    server&.close
  end

  def answer(socket, bytes)
    nil until ["\r\n", nil].include?(socket.gets)
    socket.write(bytes)
  rescue SystemCallError
    nil # the client has seen enough
  ensure
    socket.close
  end

  def assert_read(sample, response)
    assert_equal([200, sample.body], [response.status, response.body])
    sample.fields.each { |name, value| assert_equal(value, response[name]) }
  end
end
