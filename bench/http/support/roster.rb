# frozen_string_literal: true

module Bench
  module HTTP
    # Who may take part: the peers by the name of their row, with the class in clients/ that drives them, the gems they
    # need, and how it is to be done. Each is used as its own documentation advises for many requests to one origin.
    module Roster
      # One of them.
      Entry = Struct.new(:file, :gems, :options, :like) do
        # @param site [Site]
        # @param limit [Integer] requests in flight
        # @return [Clients::Client]
        def client(site, limit)
          require_relative "../clients/#{file}"
          Clients.const_get(constant).new(site, limit, **options)
        end

        # Every word of a file's name begins with a capital letter in its constant; that may have one for each library.
        def constant = [file.split("_").map(&:capitalize).join, *like].join("::")
      end

      def self.entry(file, gems: [], like: nil, **options) = Entry.new(file, gems, options, like)
      private_class_method :entry

      # Fibers are Plait's.
      FIBERS = %w[plait].freeze

      ENTRIES = {
        "sockets" => entry("sockets", on: :sequence),
        "sockets, threads" => entry("sockets", on: :threads),
        "sockets, fibers" => entry("sockets", gems: FIBERS, on: :fibers),
        "Net::HTTP" => entry("net_http", on: :sequence, keep_alive: false),
        "Net::HTTP, threads" => entry("net_http", on: :threads, keep_alive: false),
        "Net::HTTP, fibers" => entry("net_http", gems: FIBERS, on: :fibers, keep_alive: false),
        "Net::HTTP keep-alive" => entry("net_http", on: :sequence, keep_alive: true),
        "Net::HTTP keep-alive, threads" => entry("net_http", on: :threads, keep_alive: true),
        "Net::HTTP keep-alive, fibers" => entry("net_http", gems: FIBERS, on: :fibers, keep_alive: true),
        "net-http-persistent" => entry("net_http_persistent", gems: %w[net-http-persistent], on: :sequence),
        "net-http-persistent, threads" => entry("net_http_persistent", gems: %w[net-http-persistent], on: :threads),
        "http.rb" => entry("http_rb", gems: %w[http], on: :sequence),
        "http.rb, threads" => entry("http_rb", gems: %w[http], on: :threads),
        "http.rb, fibers" => entry("http_rb", gems: %w[http plait], on: :fibers),
        "httpx" => entry("httpx_calls", gems: %w[httpx], on: :sequence),
        "httpx, threads" => entry("httpx_calls", gems: %w[httpx], on: :threads),
        "httpx, batches" => entry("httpx_batches", gems: %w[httpx]),
        "typhoeus" => entry("typhoeus", gems: %w[typhoeus]),
        "curb, recycled" => entry("curb_recycled", gems: %w[curb]),
        "curb, Multi.get" => entry("curb_multi_get", gems: %w[curb]),
        "curb, one handle" => entry("curb_easy", gems: %w[curb]),
        "em-http-request" => entry("em_http_request", gems: %w[em-http-request]),
        "async-http" => entry("async_http", gems: %w[async-http])
      }.freeze

      # Plait itself, by the mechanism that a case is about.
      PLAIT = {
        sequence: entry("plait_calls", gems: FIBERS, on: :sequence),
        threads: entry("plait_fan_out", gems: FIBERS, on: :threads),
        fibers: entry("plait_fan_out", gems: FIBERS)
      }.freeze

      # Calls under Plait.map, by its mechanism.
      MAP = %i[fibers threads].to_h { |on| [on, entry("plait_calls", gems: FIBERS, on: on)] }.freeze

      # The libraries that send and receive files: the class in {Clients::Transfers}, and the gems.
      TRANSFERS = { "plait" => ["Plait", FIBERS], "Net::HTTP" => ["NetHttp", []], "http.rb" => ["HttpRb", %w[http]],
                    "httpx" => ["Httpx", %w[httpx]], "curb" => ["Curb", %w[curb]] }.freeze

      # @param name [String] of a row
      # @return [Entry]
      def self.fetch(name) = ENTRIES.fetch(name)

      # @param like [String] the class in {Clients::OrdinaryCalls}
      # @return [Entry]
      def self.ordinary(like, way) = entry("ordinary_calls", gems: like == "Plait" ? FIBERS : [], like: like, way: way)

      # @param name [String] see {TRANSFERS}
      # @return [Entry]
      def self.transfer(name, way)
        like, gems = TRANSFERS.fetch(name)
        entry("transfers", gems: gems, like: like, way: way)
      end
    end
  end
end
