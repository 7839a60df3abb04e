# frozen_string_literal: true

require "net/http"

module Plait
  module CLI
    class Serve < Command
      # Sends requests to a server on this machine, over connections that are kept, one a thread.
      class Load
        # Seconds for an answer.
        PATIENCE = 30
        KINDS = { "GET" => Net::HTTP::Get, "HEAD" => Net::HTTP::Head }.freeze

        # What came of it.
        #
        # - `count` answers, `wall` seconds from the first request to the last answer
        # - `latencies` in seconds, one an answer
        # - `failures` what went wrong => how often, as in "GET /users answers 500"
        Result = Struct.new(:count, :wall, :latencies, :failures, keyword_init: true) do
          # @return [String, nil] what went wrong most often
          def failure = failures.max_by(&:last)&.then { |what, often| "#{what} (#{often} of #{count + failures.sum(&:last)})" }
        end

        # @param requests [Array<Array(String, String)>] method and target; after the last one comes the first
        # @param headers [Hash{String => String}] of each request
        def initialize(port, requests, headers: {})
          @port = port
          @requests = requests
          @headers = headers
        end

        # A new request as soon as an answer is there, as impatient clients send it; as many requests as clients in any case.
        # @param clients [Integer] requests at once
        def closed(clients, seconds)
          run(clients) do |started|
            ends = started + seconds
            ->(index) { index < clients || Deadline.now < ends ? Deadline.now : nil }
          end
        end

        # At a fixed rate, as users come, each request at its time. Where all clients are busy a request goes out late, and its
        # latency counts from the time at which it was due.
        # @param rate [Numeric] requests a second
        # @param clients [Integer] requests at once at most
        def at_rate(rate, clients, seconds)
          run(clients) do |started|
            last = (rate * seconds).ceil
            ->(index) { index < last ? started + (index / rate.to_f) : nil }
          end
        end

        # @return [Array<Array(String, Object)>] each different request with its status, or with its error
        def each_once
          connected { |connection| @requests.uniq.map { |request| [request.join(" "), ask(connection, *request)] } }
        end

        private

        # @yieldreturn [Proc] takes the number of a request and says when it is due; nil: there is none
        def run(clients)
          @index = -1
          @lock = Mutex.new
          started = Deadline.now
          due = yield(started)
          parts = Array.new(clients) { Thread.new { connected { |connection| client(connection, due) } } }.map(&:value)
          latencies = parts.flat_map(&:first)
          failures = parts.map(&:last).reduce { |all, part| all.merge(part) { |_, one, other| one + other } }
          Result.new(count: latencies.size, wall: Deadline.now - started, latencies: latencies, failures: failures)
        end

        def client(connection, due)
          latencies = []
          failures = Hash.new(0)
          while (at = due.call(index = take))
            wait_until(at)
            request = @requests[index % @requests.size]
            flaw = flaw_of(ask(connection, *request))
            flaw ? failures["#{request.join(" ")} #{flaw}"] += 1 : latencies << (Deadline.now - at)
          end
          [latencies, failures]
        end

        def take = @lock.synchronize { @index += 1 }

        def wait_until(time)
          early = time - Deadline.now
          sleep(early) if early.positive?
        end

        # @return [Integer, StandardError] the status
        def ask(connection, method, target)
          connection.start unless connection.started?
          connection.request(KINDS.fetch(method).new(target, @headers)).code.to_i
        rescue SystemCallError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError => e
          finish(connection)
          e
        end

        def flaw_of(answer)
          return "answers #{answer}" if answer.is_a?(Integer) && answer >= 500

          "has no answer: #{answer.message}" unless answer.is_a?(Integer)
        end

        def connected
          connection = Net::HTTP.new("127.0.0.1", @port, nil)
          connection.max_retries = 0
          connection.keep_alive_timeout = PATIENCE
          connection.open_timeout = connection.read_timeout = PATIENCE
          yield connection
        ensure
          finish(connection)
        end

        def finish(connection)
          connection.finish if connection&.started?
        rescue IOError
          nil
        end
      end
    end
  end
end
