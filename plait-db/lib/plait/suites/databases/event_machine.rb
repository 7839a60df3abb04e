# frozen_string_literal: true

require "eventmachine"
require "json"
require "mysql2/em"
require "plait/suites/common/suite"
require "plait/suites/common/descriptor_limit"
require_relative "../../db/address"
require_relative "figures"
require_relative "people"

module Plait
  module Suites
    class Databases < Suite
      # The historical row: EventMachine with a fiber for each request, in the way of em-synchrony. A fiber starts a query and
      # yields; the query's callback resumes it. It knows just as much of HTTP as `ab` speaks.
      class EventMachine
        # Connections to the database: who finds none free waits in line.
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
            kept = head.match?(/^Connection: keep-alive/i)
            Fiber.new do
              status, body = @app.call(head[/\AGET (\S+)/, 1])
              send_data("HTTP/1.0 #{status}\r\nContent-Length: #{body.bytesize}\r\n" \
                        "Connection: #{kept ? "keep-alive" : "close"}#{ENDING}#{body}")
              close_connection_after_writing unless kept
            end.resume
          end
        end

        # @param url [String] of the database
        # @param size [Integer] connections to it
        # @param pause [String, nil] see {People.statements}
        def initialize(url:, size:, pause: nil)
          @address = DB::Address.parse(url)
          @size = size
          @pause = pause
          @count = 0
        end

        # Serves until its process is ended.
        # @yieldparam port [Integer] when it listens
        # @return [void]
        def run
          DescriptorLimit.lift
          trap("TERM") { exit!(0) } # an exception that ends it crashes in the extension's memory
          ::EventMachine.epoll
          ::EventMachine.run do
            @pool = Pool.new(@size) { connect }
            server = ::EventMachine.start_server("127.0.0.1", 0, Connection) { |connection| connection.app = method(:call) }
            yield Socket.unpack_sockaddr_in(::EventMachine.get_sockname(server)).first
          end
        end

        private

        def connect
          ::Mysql2::EM::Client.new(host: @address.host, port: @address.port, username: @address.user,
                                   password: @address.password, database: @address.database)
        end

        def call(target)
          return ["200 OK", Figures.now.to_json] if target == Figures::PATH

          number = target[/\d+/]&.to_i || (@count += 1)
          name, sum, count = People.statements(number, @pause).map { |sql| @pool.value(sql) }
          ["200 OK", "#{[name, Integer(sum), count].join(" ")}\n"]
        rescue ::Mysql2::Error => e
          ["500 Internal Server Error", e.message]
        end
      end
    end
  end
end
