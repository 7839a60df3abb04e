# frozen_string_literal: true

require "json"
require "rbconfig" # of which the resolv of JRuby, which net/http loads, needs a constant
require "net/http"
require "plait/suites/common/companion"

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
      # What the origin answers with: bytes that follow from the request's target alone, so that the client can tell an
      # answer to somebody else's request, a hole and a cut end from the right one without being told the body.
      class Body
        # Large bodies are sent in slabs of about this size, so that a thousand of them in flight stay small in memory.
        SLAB_BYTES = 256 * 1024

        # @param target [String] path and query, as requested
        # @param size [Integer] bytes
        # @return [String] the whole body, binary
        def self.of(target, size) = new(target, size).to_s

        # @return [Integer] bytes
        attr_reader :size

        def initialize(target, size)
          @line = "#{target}\n".b
          @size = size
        end

        # @return [String]
        def to_s = @size.zero? ? String.new : bytes(0, @size)

        # @yieldparam [String] the body's consecutive pieces
        def each_slab(bytes = SLAB_BYTES)
          (0...@size).step(bytes) { |offset| yield bytes(offset, [bytes, @size - offset].min) }
        end

        private

        def bytes(offset, length)
          phase = offset % @line.bytesize
          (@line * (((phase + length) / @line.bytesize) + 1)).byteslice(phase, length)
        end
      end

      HOST = "127.0.0.1"
      StartError = Companion::StartError

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
        call = "latency: #{Float(latency)}, parent: #{Process.pid}, per_connection: :#{per_connection}"
        program = File.expand_path("origin/server.rb", __dir__)
        origin = new(Companion.launch(program, "Plait::Suites::Origin::Server.run(#{call})"))
        started = origin.await
      ensure
        origin&.stop unless started
      end

      # @param target [String] path and query, as requested
      # @param size [Integer] bytes
      # @return [String] what the origin answers with
      def self.body(target, size) = Body.of(target, size)

      # @return [Integer]
      attr_reader :port

      # @param companion [Companion]
      # @see .start
      def initialize(companion)
        @companion = companion
      end

      # Waits until it listens.
      # @raise [StartError]
      # @return [Origin] itself
      def await
        @port = @companion.await_port("the embedded origin")
        self
      end

      # @return [Integer] process id
      def pid = @companion.pid

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
      # @return [void]
      def stop = @companion.stop

      private

      def ask(path) = JSON.parse(Net::HTTP.get(uri(path)), symbolize_names: true)
    end
  end
end
