# frozen_string_literal: true

# What a server does on a mechanism (ARGV[0]), in lines that test/without_epoll_test.rb compares.
require "plait"
require "plait/server"
require "socket"

LARGE = 8 * 1024 * 1024
FILE = File.expand_path("../../../guides/rubies.md", __dir__)
OPENED = Struct.new(:to_path) { def each = nil }

app = lambda do |env|
  case env["PATH_INFO"]
  when "/wait" then sleep(0.05)
  when "/body" then next [200, {}, [env["rack.input"].read.sum.to_s]]
  when "/large" then next [200, {}, ["x" * LARGE]]
  when "/file" then next [200, {}, OPENED.new(FILE)]
  end
  [200, {}, [env["QUERY_STRING"]]]
end
server = Plait::Server.new(app, on: ARGV[0].to_sym)
port = server.listen("tcp://127.0.0.1:0").port
thread = server.start

ask = ->(path, number = "") { "GET #{path}?#{number} HTTP/1.1\r\nhost: a\r\n\r\n" }
read = lambda do |socket|
  head = socket.gets("\r\n\r\n") or next
  socket.read(head[/content-length: (\d+)/, 1].to_i)
end
sockets = Array.new(200) { TCPSocket.new("127.0.0.1", port) }
first = sockets.first

# One connection: requests one after another, and twenty at once.
kept = Array.new(3) { |number| first.write(ask["/", number]) && read[first] }
first.write((1..20).map { |number| ask["/", number] }.join)
p kept, Array.new(20) { read[first].to_i } == [*1..20]

# 200 connections, whose requests wait.
sockets.each_with_index { |socket, number| socket.write(ask["/wait", number]) }
p sockets.map { |socket| read[socket].to_i } == [*0...200]

# A body that goes to a file.
body = Random.bytes(3 * 1024 * 1024)
first.write("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: #{body.bytesize}\r\n\r\n", body)
p read[first].to_i == body.sum

# A slow reader of a large answer.
first.write(ask["/large"])
first.gets("\r\n\r\n")
p Array.new(16) { sleep(0.005) && first.read(LARGE / 16).bytesize }.sum == LARGE

first.write(ask["/file"])
p read[first] == File.binread(FILE)

# A request that runs at the end gets its answer; idle connections are closed.
first.write(ask["/wait", "last"])
sleep(0.01)
server.stop(within: 20)
thread.join
p read[first], read[first], sockets.last.read
