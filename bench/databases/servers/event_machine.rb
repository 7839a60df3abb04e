# frozen_string_literal: true

# The historical row: EventMachine with a fiber for each request, as em-synchrony has it. A fiber starts a query and yields; the
# query's callback resumes it. It knows as much of HTTP as `ab` and `wrk` speak.

require "eventmachine"
require "mysql2/em"
require_relative "app"
require_relative "pooled"

module Evented
  # Connections to the database: a fiber that finds none free waits in line.
  class Pool
    # @param size [Integer]
    # @yieldreturn [Mysql2::EM::Client]
    def initialize(size, &connect)
      @free = Array.new(size, &connect)
      @waiting = []
    end

    # @param sql [String]
    # @return [Object] the value of the first row
    def value(sql)
      client = @free.pop || wait
      answer = await(client.query(sql, as: :array))
      answer.is_a?(Exception) ? raise(answer) : answer.first.first
    ensure
      give_back(client) if client
    end

    private

    def wait
      @waiting.push(Fiber.current)
      Fiber.yield
    end

    def give_back(client) = (fiber = @waiting.shift) ? fiber.resume(client) : @free.push(client)

    def await(query)
      fiber = Fiber.current
      query.callback { |result| fiber.resume(result) }
      query.errback { |error| fiber.resume(error) }
      Fiber.yield
    end
  end

  # A connection of a client.
  module Connection
    ENDING = "\r\n\r\n"
    private_constant :ENDING

    attr_writer :app

    # As EventMachine calls it.
    def receive_data(data)
      @received = (@received || +"") << data
      while (head = @received.slice!(/\A.*?#{ENDING}/mo))
        answer(head)
      end
    end

    private

    def answer(head)
      kept = head.match?(%r{^Connection: keep-alive|\A\S+ \S+ HTTP/1\.1}i)
      Fiber.new do
        status, _, parts = @app.call({ "QUERY_STRING" => head[/\AGET \S+\?(\S+)/, 1].to_s })
        body = parts.join
        send_data("HTTP/1.1 #{status} OK\r\nContent-Length: #{body.bytesize}\r\n" \
                  "Connection: #{kept ? "keep-alive" : "close"}#{ENDING}#{body}")
        close_connection_after_writing unless kept
      end.resume
    end
  end
end

_, url, size, seconds, port = ARGV
about = Pooled.about(URI(url))
EventMachine.epoll
EventMachine.run do
  pool = Evented::Pool.new(Integer(size)) { Mysql2::EM::Client.new(about) }
  app = App.build(url, seconds) { |sql| pool.value(sql) }
  EventMachine.start_server("127.0.0.1", Integer(port), Evented::Connection) { |connection| connection.app = app }
end
