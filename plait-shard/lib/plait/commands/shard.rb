# frozen_string_literal: true

module Plait
  module CLI
    # `plait shard`
    class Shard < Command
      PLACE = 70
      USAGE = "shard [status]"
      ARGUMENTS = (0..1)
      SUMMARY = "Put several Redis servers behind one address: they work at once"
      ABOUT = <<~TEXT
        A proxy between Redis clients and several redis-servers. Each key belongs to one server, the proxy splits commands with
        many keys, and all answers come in order. Redis runs commands on one thread; behind the proxy each server has its own.

        The proxy finds data of another proxy: --placement names the rule. redis_sharding is the rule of the original
        redis-sharding, redis_sharding_perl of its version in Perl. twemproxy is that of nutcracker (with --hash, --distribution and
        --tag as in its file). cluster is the slots of Redis Cluster, dealt out evenly.

        With --cluster it is in front of a Redis Cluster or Valkey Cluster. It follows slots that move and replicas that take over,
        and clients see one server. With --sentinels it asks the Sentinels for the masters.

        With --demo it starts redis-servers in a temporary folder, and ends them at its end. Ctrl-C ends it at once, SIGTERM when
        waiting clients have their answers. SIGHUP reads the file of --config again; with --reshard it moves the keys whose
        places change. SIGUSR2 hands over to a new process and refuses no client.

        plait shard status prints the figures of a running proxy, from the address of its --metrics.
      TEXT

      OPTIONS = {
        nodes: { banner: "HOST:PORT,...", desc: "the servers; HOST:PORT:WEIGHT gives one more keys or fewer" },
        cluster: { banner: "HOST:PORT,...", desc: "instead of --nodes: some nodes of a Redis Cluster, to find the others" },
        sentinels: { banner: "HOST:PORT,...", desc: "instead of --nodes: Sentinels that know the servers of --masters" },
        masters: { banner: "NAME,...", desc: "the servers' names with --sentinels" },
        reads: { banner: "WHERE", desc: "servers for commands that only read: master (the default), replicas or any" },
        config: { banner: "FILE", desc: "a file of YAML with these options; options of the command win" },
        listen: { banner: "HOST:PORT", desc: "address for clients (default: 127.0.0.1:6380); tls:// before it: see --config" },
        threads: { banner: "N", desc: "native threads that move the bytes (default: 1)" },
        placement: { banner: "RULE", desc: "redis_sharding (the default), redis_sharding_perl, twemproxy or cluster" },
        hash: { banner: "NAME", desc: "crc32a, fnv1a_64, murmur ..., if it differs from the rule's" },
        distribution: { banner: "NAME", desc: "modula, ketama or slots, if it differs from the rule's" },
        tag: { banner: "{}", desc: "the part of a key between these two counts; or last_brace, first_brace" },
        timeout: { banner: "SECONDS", desc: "for a server to send something of its answer (default: 10); 0 is any time" },
        metrics: { banner: "HOST:PORT", desc: "the address of its figures over HTTP, for Prometheus" },
        drain: { banner: "SECONDS", desc: "for clients to get their answers, at SIGTERM or when keys move (default: 10)" },
        reshard: { type: :boolean, default: false,
                   desc: "at SIGHUP move the keys with another place in the file, while clients go on" },
        resume: { type: :boolean, default: false, desc: "with --reshard: go on after an aborted one, and renew its copies" },
        json: { type: :boolean, desc: "status: as JSON" },
        demo: { banner: "[N]", lazy: "4", desc: "start N redis-servers (default: 4) instead of --nodes" },
        quiet: { type: :boolean, desc: "no live figures" }
      }.freeze
      EXAMPLES = {
        "plait shard --demo" => "four servers behind 127.0.0.1:6380; try redis-cli -p 6380",
        "plait shard --nodes 10.0.0.1:6379,10.0.0.2:6379 --listen 0.0.0.0:6380 --threads 2" => "your servers",
        "plait shard --nodes a:6379,b:6379 --placement twemproxy --hash murmur" => "instead of nutcracker",
        "plait shard --cluster 10.0.0.1:6379,10.0.0.2:6379" => "a cluster, for unchanged clients",
        "plait shard status --metrics 127.0.0.1:9121" => "the figures of a running proxy"
      }.freeze

      def call
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
        Status.new(terminal, words, options).call
      end
    end
  end
end
