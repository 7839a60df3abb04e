# frozen_string_literal: true

require "json"
require "plait/suites/common/suite"
require "plait/suites/common/descriptor_limit"
require "plait"
require_relative "../../db"
require_relative "documents"
require_relative "figures"
require_relative "people"
require_relative "thread_per_connection"

module Plait
  module Suites
    class Databases < Suite
      # The Rack app of the experiment under {Plait::Server}, in a process of its own: three queries a request.
      class Served
        HEADERS = { "content-type" => "text/plain" }.freeze
        # Requests that wait for their turn: every connection may have one.
        QUEUE = 20_000
        private_constant :HEADERS, :QUEUE

        # @param url [String] of the database
        # @param on [Symbol] the server's mechanism
        # @param limit [Integer, nil] requests that run at once; nil: each connection has a thread, under {ThreadPerConnection}
        # @param size [Integer] connections to the database
        # @param pause [String, nil] see {People.statements}
        def initialize(url:, on:, limit:, size:, pause: nil)
          @database = DB.connect(url, size: size, timeout: nil)
          @people = url.start_with?("mongodb") ? Documents.new(@database, Float(pause || 0)) : People.new(@database, pause)
          @options = { on: on, limit: limit, queue: QUEUE, queue_timeout: nil } if limit
          @count = 0
        end

        # Serves until its process is ended.
        # @yieldparam port [Integer] when it listens
        # @return [void]
        def run
          DescriptorLimit.lift
          server, port = @options ? serve : serve_by_threads
          yield port
          server.run
        end

        # @param env [Hash]
        # @return [Array]
        def call(env)
          return [200, HEADERS.dup, [Figures.now(@database).to_json]] if env["PATH_INFO"] == Figures::PATH

          number = env["QUERY_STRING"][/\d+/]&.to_i || (@count += 1)
          [200, HEADERS.dup, ["#{@people.ask(number).join(" ")}\n"]]
        rescue StandardError => e
          [500, HEADERS.dup, ["#{e.class}: #{e.message}\n"]]
        end

        private

        def serve
          server = Plait::Server.new(method(:call), **@options, bind: "tcp://127.0.0.1:0")
          [server, server.endpoints.first.port]
        end

        def serve_by_threads = ThreadPerConnection.new(method(:call)).then { |server| [server, server.port] }
      end
    end
  end
end
