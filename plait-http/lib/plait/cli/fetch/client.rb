# frozen_string_literal: true

require_relative "../../http"
require "plait/cli/terminal"
require_relative "record"
require_relative "output"

module Plait
  module CLI
    class Fetch < Command
      # Gets the answer to one job for the fan-out, as a {Result}: with further attempts, each with a time limit of its own,
      # and pauses that a host asks for.
      class Client < HTTP::Client
        CONNECT = 10.0 # seconds
        # Seconds that a host may ask for; a host that asks for more is given up.
        PATIENCE = 3600.0
        # Seconds between two looks whether the run is to stop.
        TICK = 0.1
        # Statuses with which a host says that it has too much to do.
        BUSY = [429, 503].freeze
        # Bytes of a body that is held in memory.
        LARGEST = 64 << 20
        # Bytes of a body that goes to a file as it comes.
        LARGEST_FILE = 1 << 40

        # @return [Integer] jobs under way in this process
        attr_reader :active

        # @param parts [String, nil] a folder: bodies go there as they come, each into a file that has the number of its line
        # @param connections [Integer] to one origin
        def initialize(settings, parts: nil, connections: settings.limit)
          @request = settings.request
          @parts = parts
          @policy = HTTP::Retries.new(count: settings.retries, base: 0.5, max: 30.0, retry_after: PATIENCE)
          @repeatable = HTTP::Request::IDEMPOTENT.include?(@request[:method])
          @lock = Mutex.new
          @open_at = {}
          @active = 0
          super(**settings.client, timeout: timeouts(settings.timeout), max_body: parts ? LARGEST_FILE : LARGEST,
                                   pool: { per_key: connections, max: settings.limit, wait: nil })
        end

        # From now on no attempt is made.
        def stop = @stopped = true

        # The deadline of the fan-out counts from the first attempt, so the pauses between two would use it up.
        def perform(job, timeouts: @timeouts, deadline: nil, **) # rubocop:disable Lint/UnusedMethodArgument -- see above
          @lock.synchronize { @active += 1 }
          pause = attempts = 0
          while pause
            wait_until(Deadline.now + pause)
            moment = @lock.synchronize { @open_at[job.host] } || 0.0
            return given_up(job) if moment == Float::INFINITY

            wait_until(moment)
            attempts += 1
            result, pause = attempt(job, attempts) { |request, &consumer| super(request, timeouts: timeouts, &consumer) }
            result.attempts = attempts
          end
          result
        ensure
          @lock.synchronize { @active -= 1 }
        end

        private

        def timeouts(seconds) = { connect: [CONNECT, seconds].min, first_byte: seconds, read: seconds, total: seconds }

        def given_up(job) = Result.failure("retry_after", "#{job.host} asks not to be called for a long time (Retry-After)")

        def wait_until(moment)
          while (left = moment - Deadline.now).positive? && !@stopped
            sleep([left, TICK].min)
          end
          raise CancelledError, "the run is stopped" if @stopped
        end

        # @return [Array(Result, Float)] the second: seconds until the next attempt; nil: there is none
        def attempt(job, attempts, &exchange)
          began = Deadline.now
          response, content = @parts ? to_file(job, exchange) : in_memory(job, exchange)
          pause = @policy.pause_after(response, attempts) if @repeatable
          heed(job, response) if BUSY.include?(response.status) && response["retry-after"]
          [result(response, seconds: Deadline.now - began, **content), pause]
        rescue Terminal::Unwritable, CancelledError
          raise
        rescue StandardError => e
          again = attempts <= @policy.count && @policy.worth?(e, @repeatable)
          [Result.of(e).tap { |failure| failure.seconds = Deadline.now - began }, again ? @policy.pause(attempts) : nil]
        end

        def in_memory(job, exchange)
          response = exchange.call(request_for(job))
          body = response.body.to_s
          [response, { body: body, bytes: body.bytesize }]
        end

        def to_file(job, exchange)
          part = File.join(@parts, job.line.to_s)
          response = nil
          bytes = exchange.call(request_for(job)) { |streamed| save(response = streamed, part) }
          [response, { part: part, bytes: bytes }]
        end

        def request_for(job) = HTTP::Request.new(@request[:method], job.url, allow_body: true, **@request.slice(:headers, :body))

        def save(response, path)
          file = Writing.to(path) { File.open(path, "wb") }
          file.sync = true
          response.each_piece { |piece| Writing.to(path) { file.write(piece) } }
          file.pos
        ensure
          file&.close
        end

        # The pause is for all jobs of the host in this process.
        def heed(job, response)
          pause = @policy.pause_after(response, 0)
          moment = pause ? Deadline.now + pause : Float::INFINITY
          @lock.synchronize { @open_at[job.host] = [@open_at[job.host] || 0.0, moment].max }
        end

        def result(response, **content)
          timings = response.timings
          Result.new(status: response.status, version: response.version, headers: response.headers.to_a,
                     final_url: response.url.to_s, timings: { **timings.to_h.compact, total: timings.total }, **content)
        end
      end
    end
  end
end
