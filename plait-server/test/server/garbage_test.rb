# frozen_string_literal: true

require "test_helper"
require "plait/io/native"
require "plait/server"
require "rbconfig"

if Plait.const_get(:Native).available? && Plait.const_defined?(:NativeServer)
  # What the server leaves to the garbage collector for each request: env, and what of it is each request's own.
  class ServerGarbageTest < Minitest::Test
    REQUESTS = 500
    # What an app makes is its own.
    ANSWER = [200, { "content-type" => "text/plain" }.freeze, ["hello"].freeze].freeze
    # Another process asks: what it makes is not counted.
    CLIENT = <<~'RUBY'
      require "socket"
      $stdout.sync = true
      socket = TCPSocket.new("127.0.0.1", ARGV.first.to_i)
      head = ["GET / HTTP/1.1", "Host: example.com", *ARGV.drop(1), "", ""].join("\r\n")
      while (count = $stdin.gets)
        count.to_i.times do
          socket.write(head)
          answer = +""
          answer << socket.readpartial(1024) until answer.end_with?("hello")
        end
        puts "done"
      end
    RUBY
    # env, PATH_INFO, rack.hijack, rack.response_finished, rack.after_reply, and the names of the fiber locals that a request has
    # left (Ruby has no other way to ask); and the table of a Hash with room for 16 keys.
    OBJECTS = 6
    # A fiber of the server has fiber storage from Ruby 3.2 on, and Ruby copies the storage when it is asked for.
    MORE_OBJECTS = { fibers: RUBY_VERSION >= "3.2" ? 1 : 0, threads: 0 }.freeze
    BYTES = 520
    FIELDS = ["User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Accept: text/html", "Accept-Language: en-US",
              "Accept-Encoding: gzip", "Connection: keep-alive", "Cookie: a=b", "Upgrade-Insecure-Requests: 1",
              "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: none", "Cache-Control: max-age=0"].freeze
    # One with room for 32, and the value that is longer than a String holds by itself.
    MORE_BYTES = 1_050

    # On hybrid it is the same, as long as nothing is under suspicion of blocking: on a busy machine something may be.
    %i[fibers threads].each do |mechanism|
      define_method("test_a_small_request_on_#{mechanism}") do
        objects, bytes = garbage(mechanism)

        assert_in_delta OBJECTS + MORE_OBJECTS[mechanism], objects, 0.2
        assert_operator bytes, :<=, BYTES
      end

      define_method("test_a_browsers_request_on_#{mechanism}") do
        objects, bytes = garbage(mechanism, *FIELDS)

        assert_in_delta OBJECTS + MORE_OBJECTS[mechanism] + FIELDS.size, objects, 0.2
        assert_operator bytes, :<=, MORE_BYTES
      end
    end

    private

    # @return [Array(Float, Float)] objects and bytes of malloc(3) for each request
    def garbage(mechanism, *fields)
      server = Plait::Server.new(->(_env) { ANSWER }, on: mechanism, bind: "tcp://127.0.0.1:0")
      thread = server.start
      IO.popen([RbConfig.ruby, "--disable-gems", "-e", CLIENT, server.endpoints.first.port.to_s, *fields], "r+") do |client|
        ask(client)
        Array.new(3) { counted { ask(client) } }.min # what the server does by the clock comes on top
      end
    ensure
      server.stop(within: 5)
      thread.join
    end

    def ask(client)
      client.puts(REQUESTS)
      client.gets
    end

    def counted
      GC.start
      GC.disable
      before = [GC.stat(:total_allocated_objects), GC.stat(:malloc_increase_bytes)]
      yield
      after = [GC.stat(:total_allocated_objects), GC.stat(:malloc_increase_bytes)]
      after.zip(before).map { |one, other| (one - other) / REQUESTS.to_f }
    ensure
      GC.enable
    end
  end
end
