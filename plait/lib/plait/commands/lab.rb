# frozen_string_literal: true

require_relative "../cli/command"
require_relative "../cli/measuring_options"
require_relative "../parts"

module Plait
  module CLI
    # `plait lab`
    class Lab < Command
      PLACE = 10
      USAGE = "lab [SUITE]"
      SUMMARY = "Run the same Ruby under every mechanism, side by side, and compare"
      ABOUT = <<~TEXT
        Measures a suite. "waiting" has functions that sleep. "computing" has compression in C, which releases Ruby's lock, and
        pure Ruby, which holds it. "http" sends requests to a slow server, with Net::HTTP, sockets by hand and Plait::HTTP. "rpc"
        has large answers by MessagePack-RPC, compared with a copy in memory. "databases" runs three queries an item on MariaDB
        and PostgreSQL, with each installed driver, or on your server. "shard" measures the Redis proxy: strategies, chunks,
        values of all sizes, KEYS over a million keys, an MSET of 92 MB. "all" runs every suite but the last two, in smaller
        sizes, in a few minutes.

        A row is one mechanism with one limit. It runs in a fresh process, several times, in random order. All results must
        be the same before Plait shows any speed. Ctrl-C ends it early; Plait shows and saves the figures so far.
      TEXT
      ARGUMENTS = (0..1)

      OPTIONS = {
        **MeasuringOptions::CHOICE,
        scale: { banner: "X", desc: "size of the work (default: 1, the full size; smaller for \"all\")" },
        requests: { banner: "N", desc: "http: number of requests (default: 50); databases: 2,000, with --full 10,000" },
        latency: { banner: "SECONDS[,…]",
                   desc: "http: time of the server for an answer (default: 0.05), a table for each; databases: 0.01,0" },
        url: { banner: "URL", desc: "http: ask this site instead of the built-in server; databases: this server" },
        full: { type: :boolean, desc: "databases: more items, more in flight; an hour instead of some minutes" },
        sizes: { banner: "MB[,…]", desc: "rpc: sizes of the answers (default: 1,2,4,8 … 128, the classic table)" },
        trials: { banner: "N", desc: "rpc: measurements of each row (default: 10, for ten minutes at most)" },
        **MeasuringOptions::MANNER
      }.freeze
      EXAMPLES = {
        "plait lab" => "everything, a few minutes",
        "plait lab waiting --scale 0.1" => "the quickest look",
        "plait lab computing --on sequence,processes,ractors --json" => "some mechanisms; the figures for a program"
      }.freeze

      # @param topic [String, nil] a suite
      # @return [Hash{Symbol => Object}] see {Command.manual}
      def self.manual(topic = nil)
        return super unless SUITES.include?(topic)

        require_relative "../suites"
        suite = Suites.fetch(topic)
        options = OPTIONS.select { |name, _| suite.takes?(name) }
                         .to_h { |name, settings| [name, { **settings, desc: suite.options.fetch(name, settings[:desc]) }] }
        { usage: "lab #{topic}", about: "#{suite.title}: #{suite.summary}.\n\nIts own options are below; plait help lab " \
                                        "lists the options of every suite.", options: options, examples: suite.examples }
      end

      def call
        require_relative "../cli/lab/suite_campaign"
        SuiteCampaign.new(terminal, words, options).call
      end
    end
  end
end
