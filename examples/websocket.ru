# frozen_string_literal: true

# A chat by WebSocket (RFC 6455): open the page twice.
#
#   gem install websocket-driver
#   plait serve examples/websocket.ru --on fibers --workers 0
#
# One process has the room; between several a line would have to go by way of Redis, or of a database.
# The connection of each request for an upgrade is taken over (rack.hijack), and is served where the request ran: in a fiber of
# its own, or on threads in one of the `--limit` threads.

require "websocket/driver"

# Everybody who listens.
class Room
  def initialize
    @lock = Mutex.new
    @members = []
  end

  def enter(member) = @lock.synchronize { @members << member }
  def leave(member) = @lock.synchronize { @members.delete(member) }
  def tell(text) = @lock.synchronize { @members.dup }.each { |member| member.tell(text) }
end

# One connection. The driver asks it for `env` and `url`, and has it `write`.
class Member # rubocop:disable Style/OneClassPerFile -- an example is one file
  attr_reader :env

  def initialize(env, room)
    @env = env
    @room = room
    @lock = Mutex.new # the driver answers pings while others tell us something
    @heard = []
    @io = env["rack.hijack"].call
    @driver = WebSocket::Driver.rack(self, max_length: 64 * 1024)
    @driver.on(:message) { |event| @heard << event.data }
    @driver.on(:close) { @closed = true }
  end

  def url = "#{env["rack.url_scheme"] == "https" ? "wss" : "ws"}://#{env["HTTP_HOST"]}#{env["PATH_INFO"]}"

  def write(bytes) = @io.write(bytes)

  def tell(text)
    @lock.synchronize { @driver.text(text) }
  rescue IOError, SystemCallError
    nil # it is gone, which its own loop will see
  end

  # Whoever is told that the connection is open misses nothing: he is in the room already.
  def run
    @room.enter(self)
    @lock.synchronize { @driver.start }
    listen until @closed
    part
  rescue IOError, SystemCallError
    nil # it has left without a word
  ensure
    @room.leave(self)
    @io.close
  end

  private

  # Others are told without the lock: two who tell each other something at once would wait for each other.
  def listen
    bytes = @io.readpartial(16_384)
    @lock.synchronize { @driver.parse(bytes) }
    @room.tell(@heard.shift) until @heard.empty?
  end

  # What it is still sending is read, though not all it could: a connection closed with bytes unread is reset, and our last
  # words would be lost.
  def part
    @io.close_write
    64.times { @io.readpartial(16_384) }
  end
end

PAGE = <<~HTML
  <!doctype html><meta charset="utf-8"><title>Chat</title>
  <form id="form"><input id="text" autofocus><button>Say</button></form><ul id="said"></ul>
  <script>
    const socket = new WebSocket(location.origin.replace("http", "ws") + "/chat");
    socket.onopen = () => document.title = "Chat: open";
    socket.onclose = (event) => document.title = "Chat: closed " + event.code;
    socket.onmessage = (event) => {
      const line = document.createElement("li");
      line.textContent = event.data;
      document.getElementById("said").append(line);
    };
    document.getElementById("form").onsubmit = (event) => {
      event.preventDefault();
      socket.send(document.getElementById("text").value);
    };
  </script>
HTML

room = Room.new
run(lambda do |env|
  next [200, { "content-type" => "text/html; charset=utf-8" }, [PAGE]] unless WebSocket::Driver.websocket?(env)

  Member.new(env, room).run
  [-1, {}, []] # the connection was ours: nobody looks at this
end)
