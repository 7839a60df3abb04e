# frozen_string_literal: true

require "test_helper"
require "plait/server"
require_relative "lone_server"

# Nothing that C holds is collected, or moved under it, whenever the collector runs.
class ServerCollectorTest < Minitest::Test
  REQUESTS = {
    "GET /each HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nX-Two: 2\r\n\r\n" => "abc",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" => "hello",
    "POST / HTTP/1.1\r\nHost: b:80\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" => "hello",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nbb8\r\n#{"y" * 3_000}\r\n0\r\n\r\n" => "y" * 3_000,
    "GET /call HTTP/1.1\r\nHost: a\r\n\r\n" => "abc", "GET /fields HTTP/1.1\r\nHost: a\r\n\r\n" => "abc",
    "GET /large HTTP/1.1\r\nHost: a\r\n\r\n" => "x" * 1_000_000
  }.freeze
  FAILING = "GET /raise HTTP/1.1\r\nHost: a\r\n\r\n"

  %i[threads fibers hybrid].each do |mechanism|
    define_method(:"test_under_stress_on_#{mechanism}") { assert_right(mechanism, 1, stress: true) }

    define_method(:"test_while_objects_move_on_#{mechanism}") do
      skip("this Ruby moves no objects") unless GC.respond_to?(:compact)

      assert_right(mechanism, 30, compact: true)
    end
  end

  private

  def assert_right(mechanism, times, **options)
    # A folder with a name so short that it lies in its object.
    LoneServer.run(mechanism, quiet: true, spool: 1_000, folder: "/tmp", **options) do |server|
      times.times { assert_answers(server.connect, failing: times > 1) } # to tell of a failure takes Ruby long under stress
      assert_operator(server.tell[:requests], :>=, times * REQUESTS.size * 2)
    end
  end

  def assert_answers(caller, failing:)
    2.times { REQUESTS.each { |bytes, body| assert_equal(body, caller.send(bytes).hear.body) } }
    assert_equal(500, caller.send(FAILING).hear.status) if failing
  ensure
    caller.close
  end
end
