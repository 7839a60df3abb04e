# frozen_string_literal: true

require_relative "../../http"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/version"
require "plait/cli/command"
require "plait/cli/terminal"
require_relative "result"
require_relative "writing"

module Plait
  module CLI
    class Fetch < Command
      # Asks for one URL. Each process has a client of its own, whose connections are shared by all that runs there.
      class Fetcher
        # What a robots.txt calls this crawler.
        AGENT = "plait"
        # Seconds
        CONNECT = 10.0
        REDIRECTS = 10
        # RFC 9309 §2.3.1.2
        ROBOTS_REDIRECTS = 5
        # Wrong again, whenever it is asked.
        LASTING = [CertificateError, LimitExceeded].freeze
        TRANSIENT = [TimeoutError, ConnectionError, TruncatedError].freeze

        # Bytes of a body that is held in memory.
        LARGEST = 64 << 20
        # Bytes of one that goes to a file as it comes.
        LARGEST_FILE = 1 << 40

        # @param settings [Settings]
        # @param parts [String, nil] a folder: bodies go there as they come, each into a file that has the number of its line
        def initialize(settings, parts: nil)
          @timeout = settings.timeout
          @limit = settings.limit
          @redirects = settings.crawl ? 0 : REDIRECTS # in a crawl a redirect is a link like others
          @parts = parts
          @lock = Mutex.new
        end

        # @param job [Job]
        # @return [Result] whatever becomes of the request
        # @raise [Terminal::Unwritable] on a full disk
        def call(job)
          client # what is wrong with it is no failure of the job
          began = Deadline.now
          result = attempt(job)
          result.seconds = Deadline.now - began
          result
        end

        private

        def attempt(job)
          @parts && !job.robots? ? to_file(job) : in_memory(job)
        rescue Terminal::Unwritable
          raise
        rescue StandardError => e
          Result.of(e, transient: transient?(e))
        end

        def in_memory(job)
          response = client.get(job.url, job.robots? ? { redirects: ROBOTS_REDIRECTS } : nil)
          body = response.body.to_s
          answer(response, body: body, bytes: body.bytesize)
        end

        def to_file(job)
          part = File.join(@parts, job.line.to_s)
          client.get(job.url) { |response| answer(response, part: part, bytes: save(response, part)) }
        end

        def save(response, path)
          file = Writing.to(path) { File.open(path, "wb") }
          file.sync = true
          response.each_piece { |piece| Writing.to(path) { file.write(piece) } }
          file.pos
        ensure
          file&.close
        end

        # Of this process, and one for all its threads: connections can't be shared with a parent.
        def client
          @lock.synchronize do
            @client = nil unless @process == Process.pid
            @process = Process.pid
            @client ||= build
          end
        end

        def build
          HTTP::Client.new(headers: { "user-agent" => "#{AGENT}/#{VERSION}" }, timeout: timeouts, redirects: @redirects,
                           max_body: @parts ? LARGEST_FILE : LARGEST, pool: { per_key: @limit, max: @limit })
        end

        def timeouts = { connect: [CONNECT, @timeout].min, first_byte: @timeout, read: @timeout, total: @timeout }

        def answer(response, **content)
          timings = response.timings
          Result.new(status: response.status, version: response.version, headers: response.headers.to_a,
                     final_url: response.url.to_s, timings: { **timings.to_h.compact, total: timings.total }, **content)
        end

        def transient?(error)
          TRANSIENT.any? { |kind| error.is_a?(kind) } && LASTING.none? { |kind| error.is_a?(kind) }
        end
      end
    end
  end
end
