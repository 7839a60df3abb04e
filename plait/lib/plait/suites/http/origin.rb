# frozen_string_literal: true

require "json"
require "rbconfig" # of which the resolv of JRuby, which net/http loads, needs a constant
require "net/http"
require_relative "../common/companion"

module Plait
  module Suites
    # The number of descriptors that this process and its children may have open: a connection takes one, and many systems
    # allow 1,024 unless asked for more.
    module DescriptorLimit
      # Enough for 10,000 connections.
      WANTED = 20_000
      # The limit of macOS, although it reports none.
      MODEST = 10_240

      module_function

      # Lifts the soft limit as far as is wanted and may be.
      def lift
        [WANTED, MODEST].find { |count| sufficient?(count) || try(count) }
      rescue NotImplementedError
        nil # no such limits here
      end

      def sufficient?(count) = Process.getrlimit(:NOFILE).first >= count

      def try(count)
        hard = Process.getrlimit(:NOFILE).last
        Process.setrlimit(:NOFILE, [count, hard].min, hard)
        true
      rescue SystemCallError
        false
      end
    end

    # A small HTTP/1.1 server on the loopback to measure clients against: in a process of its own, so that it takes
    # nothing from what is measured but CPU time. It dies with the process that started it.
    #
    # * `/` 612 bytes, `/bytes/N` N bytes; `?row=NAME` to be counted under that name; any other parameter makes the body
    #   another one;
    # * `/stats` what it has served so far.
    #
    # @example
    #   Origin.open(latency: 0.05) do |origin|
    #     Net::HTTP.get(origin.uri("/bytes/612?id=7")) == Origin.body("/bytes/612?id=7", 612)
    #   end
    class Origin
      HOST = "127.0.0.1"
      # Bytes of the body at `/`.
      SIZE = 612

      # Starts an origin, yields it, stops it whatever happens.
      # @param options [Hash] as for {.start}
      # @return [Object] what the block returned
      # @raise [Companion::StartError]
      def self.open(**options)
        origin = start(**options)
        yield origin
      ensure
        origin&.stop
      end

      # @param latency [Numeric] seconds between a request and its answer
      # @return [Origin] listening
      # @raise [Companion::StartError]
      def self.start(latency: 0.05)
        call = "latency: #{Float(latency)}, parent: #{Process.pid}"
        companion = Companion.launch(File.expand_path("origin/server.rb", __dir__), "Plait::Suites::Origin::Server.run(#{call})")
        new(companion, companion.await_port("the embedded origin"))
      end

      # Follows from the request's target alone, so that a client can tell the answer to another request, a hole and a cut
      # end from the right one.
      # @param target [String] path and query, as requested
      # @param size [Integer] bytes
      # @return [String] binary
      def self.body(target, size)
        line = "#{target}\n".b
        (line * ((size / line.bytesize) + 1)).byteslice(0, size)
      end

      attr_reader :port

      # @see .start
      def initialize(companion, port)
        @companion = companion
        @port = port
      end

      # @return [Integer] process id
      def pid = @companion.pid

      # @param target [String] path and query
      # @return [URI::HTTP]
      def uri(target = "/") = URI("http://#{HOST}:#{@port}#{target}")

      # @return [Hash{Symbol => Object}] accepted connections, served requests, and under rows, for each name, the most
      #   requests that were in flight at once
      def stats = JSON.parse(Net::HTTP.get(uri("/stats")), symbolize_names: true)

      # Ends the process and waits for it. Does nothing the second time, nor in a fork of the process that started it.
      def stop = @companion.stop
    end
  end
end
