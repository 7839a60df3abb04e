# frozen_string_literal: true

require_relative "../cli/command"
require_relative "../cli/measuring_options"

module Plait
  module CLI
    # `plait lab`
    class Lab < Command
      PLACE = 10
      USAGE = "lab [SUITE]"
      SUMMARY = "Run the same Ruby under every mechanism, side by side, and compare"
      ABOUT = <<~TEXT
        Measures a suite: "waiting" (functions that sleep), "computing" (compression in C, which releases Ruby's lock,
        and pure Ruby, which holds it), "http" (requests with Net::HTTP, sockets by hand and Plait::HTTP to a server
        that takes its time), "rpc" (big answers by MessagePack-RPC, held against a copy in memory), "databases" (three
        queries an item, on MariaDB and PostgreSQL by each driver that is installed, or on your server), "shard"
        (the Redis proxy: its strategies and chunks over values of all sizes, KEYS over a million keys, an MSET of 92 MB),
        or "all": every suite but the last two, in smaller sizes, in a few minutes.

        Every row, one mechanism with one limit, is run in a fresh process, several times, in random order. The results
        must be the same everywhere before any speed is shown. Ctrl-C ends it early; what was measured by then is shown
        and saved.
      TEXT
      ARGUMENTS = (0..1)

      OPTIONS = {
        **MeasuringOptions::CHOICE,
        scale: { banner: "X", desc: "the size of the work, 1 for the full one (default: 1; for \"all\" a part of it)" },
        requests: { banner: "N", desc: "http: how many requests (default: 50); databases: 2,000, with --full 10,000" },
        latency: { banner: "SECONDS[,…]",
                   desc: "http: how long the server takes to answer (default: 0.05), a table for each; databases: 0.01,0" },
        url: { banner: "URL", desc: "http: ask this site instead of the built-in server; databases: this server" },
        full: { type: :boolean, desc: "databases: more items, and more of them in flight: an hour instead of some minutes" },
        sizes: { banner: "MB[,…]", desc: "rpc: how large the answers are (default: 1,2,4,8 … 128, the classic table)" },
        trials: { banner: "N", desc: "rpc: how often each row is measured (default: 10, as far as ten minutes go)" },
        **MeasuringOptions::MANNER
      }.freeze
      EXAMPLES = {
        "plait lab" => "everything, a few minutes",
        "plait lab waiting --scale 0.1" => "the quickest look",
        "plait lab http --requests 500 --limit 10,100" => "more requests, two limits",
        "plait lab rpc --sizes 1,16 --trials 5" => "two columns of the classic table",
        "plait lab shard --scale 0.1 --rounds 1" => "the quickest look at the proxy",
        "plait lab computing --on sequence,processes,ractors --json" => "some mechanisms; the figures for a program"
      }.freeze

      def call
        require_relative "../cli/lab/suite_campaign"
        SuiteCampaign.new(terminal, words, options).call
      end
    end
  end
end
