# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/command"

module Plait
  module CLI
    # `plait shard`
    class Shard < Command
      PLACE = 70
      USAGE = "shard [status]"
      ARGUMENTS = (0..1)
      SUMMARY = "Put several Redis servers behind one address: they work at once"
      ABOUT = <<~TEXT
        A proxy between Redis clients and several redis-servers: each key belongs to one of them, commands with many keys are
        split, and all answers come in order. Redis runs commands on one thread; behind the proxy each server has its own.

        Data that another proxy has placed is found: --placement says by which rule. redis_sharding is that of the original
        redis-sharding, redis_sharding_perl that of its version in Perl, twemproxy that of nutcracker (with --hash,
        --distribution and --tag as in its file), cluster the slots of Redis Cluster, dealt out evenly.

        With --cluster it is in front of a Redis Cluster or Valkey Cluster: it follows slots that move and replicas that take over,
        and clients see one server. With --sentinels it asks the Sentinels for the masters.

        With --demo it starts redis-servers of its own, in a temporary folder, and ends them with itself. Ctrl-C ends it;
        SIGTERM does when clients have the answers that they wait for, and SIGHUP reads the file of --config again; with
        --reshard it moves the keys whose places change. SIGUSR2 hands over to a new process, and no client is refused.

        plait shard status asks a running proxy for its figures, at the address of its --metrics.
      TEXT

      OPTIONS = {
        nodes: { banner: "HOST:PORT,...", desc: "the servers; HOST:PORT:WEIGHT gives one more keys or fewer" },
        cluster: { banner: "HOST:PORT,...", desc: "instead of --nodes: some nodes of a Redis Cluster; the others are found" },
        sentinels: { banner: "HOST:PORT,...", desc: "instead of --nodes: Sentinels, which know the servers of --masters" },
        masters: { banner: "NAME,...", desc: "the servers' names with --sentinels" },
        reads: { banner: "WHERE", desc: "where commands go that only read: master (the default), replicas or any" },
        config: { banner: "FILE", desc: "a file of YAML with these options; the command line wins" },
        listen: { banner: "HOST:PORT", desc: "where clients connect (default: 127.0.0.1:6380); tls:// before it: see --config" },
        threads: { banner: "N", desc: "native threads that move the bytes (default: 1)" },
        placement: { banner: "RULE", desc: "redis_sharding (the default), redis_sharding_perl, twemproxy or cluster" },
        hash: { banner: "NAME", desc: "crc32a, fnv1a_64, murmur ..., where it differs from the rule's" },
        distribution: { banner: "NAME", desc: "modula, ketama or slots, where it differs from the rule's" },
        tag: { banner: "{}", desc: "the part of a key between these two counts; or last_brace, first_brace" },
        timeout: { banner: "SECONDS", desc: "in which an asked server has to send some bytes (default: 10); 0 is any time" },
        metrics: { banner: "HOST:PORT", desc: "where it serves its figures over HTTP, in Prometheus' format" },
        drain: { banner: "SECONDS", desc: "for pending answers, at SIGTERM or when keys move (default: 10)" },
        reshard: { type: :boolean, default: false,
                   desc: "at SIGHUP, keys with another place in the file are moved there, while clients are served" },
        resume: { type: :boolean, default: false, desc: "with --reshard: goes on with a reshard that was broken off" },
        json: { type: :boolean, desc: "status: as JSON" },
        demo: { banner: "[N]", lazy: "4", desc: "start N redis-servers (default: 4) instead of --nodes" },
        quiet: { type: :boolean, desc: "no live figures" }
      }.freeze
      EXAMPLES = {
        "plait shard --demo" => "four servers behind 127.0.0.1:6380; try redis-cli -p 6380",
        "plait shard --nodes 10.0.0.1:6379,10.0.0.2:6379 --listen 0.0.0.0:6380 --threads 2" => "running servers",
        "plait shard --nodes a:6379,b:6379 --placement twemproxy --hash murmur" => "in the place of a nutcracker",
        "plait shard --cluster 10.0.0.1:6379,10.0.0.2:6379" => "a cluster, for clients that know nothing of clusters",
        "plait shard status --metrics 127.0.0.1:9121" => "the figures of a running proxy"
      }.freeze

      def call
        terminal.quiet = options["quiet"]
        return status if words.any?
        raise UsageError, "--json goes with plait shard status" if options["json"]

        require_relative "../cli/shard/run"
        require_relative "../cli/shard/settings"
        Run.new(Settings.new(options), terminal).call
      end

      private

      def status
        raise UsageError, "plait shard has no other word than status, not \"#{words.first}\"" unless words.first == "status"

        require_relative "../cli/shard/status"
        Status.new(options, terminal).call
      end
    end
  end
end
