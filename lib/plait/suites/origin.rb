# frozen_string_literal: true

require "io/wait"
require "json"
require "net/http"
require "rbconfig"
require_relative "../values/deadline"
require_relative "../values/errors"
require_relative "jruby"
require_relative "origin/body"

module Plait
  module Suites
    # A small HTTP/1.1 server on the loopback to measure clients against: in a process of its own, so that it takes
    # nothing from what is measured but CPU time. It dies with the process that started it.
    #
    # * `/` 612 bytes, `/bytes/N` N bytes, `/chunked/N` the same in chunks of 8 KiB;
    # * `?latency=SECONDS` instead of the origin's own; `?row=NAME` to be counted under that name besides; any other
    #   parameter only makes the body another one;
    # * `/stats` what it has served so far, `/reset` the same, and starts to count afresh.
    #
    # @example
    #   Origin.open(latency: 0.05) do |origin|
    #     Net::HTTP.get(origin.uri("/bytes/612?id=7")) == Origin.body("/bytes/612?id=7", 612)
    #   end
    class Origin
      HOST = "127.0.0.1"
      START_SECONDS = 60
      STOP_SECONDS = 2
      private_constant :START_SECONDS, :STOP_SECONDS

      # The origin did not come up.
      class StartError < Error; end

      # Starts an origin, yields it, stops it whatever happens.
      # @param options [Hash] as for {.start}
      # @return [Object] what the block returned
      # @raise [StartError]
      def self.open(**options)
        origin = start(**options)
        yield origin
      ensure
        origin&.stop
      end

      # @param latency [Numeric] seconds between a request and its answer
      # @param per_connection [Symbol] :fibers or :threads; by default what this Ruby can
      # @return [Origin] listening
      # @raise [StartError]
      def self.start(latency: 0.05, per_connection: RUBY_ENGINE == "ruby" ? :fibers : :threads)
        # Not spawn with a pipe: JRuby redirects to a pipe only when its JVM was told to open itself to it.
        process = IO.popen([{ "RUBYOPT" => nil }, *command(latency, per_connection), { in: File::NULL }])
        origin = new(process)
        started = origin.await
      ensure
        origin&.stop unless started
      end

      # @param target [String] path and query, as requested
      # @param size [Integer] bytes
      # @return [String] what the origin answers with
      def self.body(target, size) = Body.of(target, size)

      class << self
        private

        # Without RubyGems and Bundler, which cost 0.2 s a start: the caller's load path already names what is needed.
        def command(latency, per_connection)
          call = "latency: #{Float(latency)}, parent: #{Process.pid}, per_connection: :#{per_connection}"
          [*ruby, "--disable=gems", *load_path, "-r#{File.expand_path("origin/server.rb", __dir__)}",
           "-e", "Plait::Suites::Origin::Server.run(#{call})"]
        end

        def ruby = RUBY_ENGINE == "jruby" ? JRuby.current.command : [RbConfig.ruby]

        def load_path
          gems = Gem.loaded_specs["io-event"]&.full_require_paths || []
          ($LOAD_PATH.map(&:to_s) | gems).select { |path| File.directory?(path) }.map { |path| "-I#{path}" }
        end
      end

      # @return [Integer]
      attr_reader :port

      # @param process [IO] from which it can be heard
      # @see .start
      def initialize(process)
        @process = process
        @owner = Process.pid
      end

      # Waits until it listens.
      # @raise [StartError]
      # @return [Origin] itself
      def await
        answer = @process.wait_readable(START_SECONDS) && @process.gets
        @port = answer[/\Aport (\d+)/, 1]&.to_i if answer
        raise StartError, "the embedded origin did not start: #{answer&.strip || "it said nothing"}" unless @port

        self
      end

      # @return [Integer] process id
      def pid = @process.pid

      # @param target [String] path and query
      # @return [URI::HTTP]
      def uri(target = "/") = URI("http://#{HOST}:#{@port}#{target}")

      # @return [Hash{Symbol => Numeric, Hash}] served, malformed, accepted, connections, peak_connections, in_flight,
      #   peak_in_flight, body_bytes, cpu_seconds; and under rows, for each: served, in_flight, peak_in_flight
      def stats = ask("/stats")

      # Starts to count afresh.
      # @return [Hash] the counts up to now, as {#stats}
      def reset = ask("/reset")

      # Ends the process and waits for it. Does nothing the second time, nor in a fork of the process that started it.
      def stop
        return if @process.closed? || @owner != Process.pid

        Process.kill(:TERM, pid)
        reap
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      ensure
        @process.close if @owner == Process.pid
      end

      private

      def ask(path) = JSON.parse(Net::HTTP.get(uri(path)), symbolize_names: true)

      def reap
        deadline = Deadline.after(STOP_SECONDS)
        until Process.wait(pid, Process::WNOHANG)
          Process.kill(:KILL, pid) if deadline.expired?
          sleep 0.005
        end
      end
    end
  end
end
