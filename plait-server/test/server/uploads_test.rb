# frozen_string_literal: true

require "test_helper"
require_relative "lone_server"

# Many bodies at once that go to files. The server is alone in its process, so that its threads really write side by side.
class ServerUploadsTest < Minitest::Test
  CLIENTS = 16
  UPLOADS = 60

  %i[threads hybrid fibers].each do |mechanism|
    define_method(:"test_each_request_has_its_own_body_on_#{mechanism}") do
      LoneServer.run(mechanism, limit: CLIENTS) do |server|
        wrong = Array.new(CLIENTS) { |number| Thread.new { wrong_uploads(server, Random.new(number)) } }.sum(&:value)

        assert_equal(0, wrong, "of #{CLIENTS * UPLOADS}")
      end
    end
  end

  private

  # @return [Integer] of {UPLOADS}, each of another letter
  def wrong_uploads(server, random)
    Array.new(UPLOADS).count do
      body = random.rand(97..122).chr * random.rand(140_000..440_000)
      caller = server.connect.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: #{body.bytesize}\r\n\r\n")
      caller.send(body).hear.body != body
    ensure
      caller&.close
    end
  end
end
