# frozen_string_literal: true

require "socket"
require "plait"

module Support
  module House
    # Files of Ruby in which a line runs for one call, by a trace: the first call, which connects, and a later one.
    class Paths
      FILES = %r{/lib/(?:plait|plait/.*)\.rb\z}
      APPS = {
        "Rack, an Array" => ->(_env) { [200, {}, ["hello"]] },
        "Rack, each" => ->(_env) { [200, {}, %w[a b].each] }
      }.freeze

      # @return [Hash{String => Array(Array<String>, Array<String>)}] name => the files of the first and of a later call
      def to_h = { "GET" => get, "RPC" => rpc, **APPS.transform_values { |app| rack(app) } }

      # @return [String] a table in Markdown
      def to_s
        ["| one | files, first | files, later |", "| --- | --- | --- |",
         *to_h.map { |name, (first, later)| "| #{name} | #{first.size} | #{later.size} |" }].join("\n")
      end

      private

      # The peer is no server of ours.
      def get
        listener = TCPServer.new("127.0.0.1", 0)
        peer = Thread.new { answer(listener.accept) }
        client = Plait::HTTP::Client.new
        twice { client.get("http://127.0.0.1:#{listener.addr[1]}/").body }
      ensure
        client&.close
        peer&.join
        listener&.close
      end

      def answer(socket)
        while (line = socket.gets)
          socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") if line == "\r\n"
        end
        socket.close
      end

      def rpc
        server = Plait::RPC::Server.new({ "add" => ->(one, two) { one + two } })
        address = server.listen("127.0.0.1", 0)
        server.start
        Plait::RPC::Client.open(address) { |client| twice { client.call(:add, 1, 2) } }
      ensure
        server&.stop
      end

      def rack(app)
        serving(app) do |port|
          socket = nil
          twice do
            socket ||= TCPSocket.new("127.0.0.1", port)
            socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            socket.readpartial(1_000)
          end
        end
      end

      def serving(app)
        server = Plait::Server.new(app, on: :threads, bind: "tcp://127.0.0.1:0")
        thread = server.start
        sleep(0.2) # its threads start
        yield(server.endpoints.first.port)
      ensure
        server&.stop(within: 1)
        thread&.join
      end

      def twice(&call) = Array.new(2) { trace(&call) }

      # Of all threads.
      def trace
        files = {}
        trace = TracePoint.new(:line) { |point| files[point.path] = true if point.path.match?(FILES) }
        trace.enable
        yield
        sleep(0.2) # what a server does behind its answer
        files.keys.sort
      ensure
        trace&.disable
      end
    end
  end
end
