# frozen_string_literal: true

module Plait
  module CLI
    # `plait rpc`
    class Rpc < Command
      PLACE = 40
      USAGE = "rpc call|serve|bench ..."
      SUMMARY = "Call a MessagePack-RPC server, serve a file, or measure a server"
      ABOUT = <<~TEXT
        plait rpc call URL METHOD [ARG ...] calls a method and prints its result. An ARG that is JSON (a number, true,
        [1, 2], {"a": 1}, "quoted") is that value, any other one a string. It prints a string as it is, other results as JSON.
        Words after -- are no options: plait rpc call URL add 1 -- -2.

        plait rpc serve FILE.rb runs a file and serves the public methods that the class of its last value defines. It
        listens on tcp://127.0.0.1:18800, or on --listen. Ctrl-C (or SIGTERM) waits for running methods; a second one does not.

        plait rpc bench [URL [METHOD [ARG ...]]] measures small calls: one after another, on threads that share one client, and
        many under way at once. It starts a server, or calls the one at the URL (default method: rpc.ping).

        URLs are tcp://host:port, unix:///path and tls://host:port. PLAIT_RPC_SECRET is the server's secret. The exit status is 1
        if the server answers with an error or too late, 69 without a connection.
      TEXT
      ARGUMENTS = (1..1_000)
      WORDS = %w[call serve bench].freeze

      OPTIONS = {
        json: { type: :boolean, desc: "call: the result as JSON, strings too; bench: the figures as JSON" },
        timeout: { banner: "SECONDS", desc: "call, bench: for the answer (default: 30)" },
        notify: { type: :boolean, desc: "call: send a notification, to which there is no answer" },
        cacert: { banner: "FILE",
                  desc: "certificates that the other side of tls:// is checked with; serve: clients need one of them" },
        listen: { banner: "URL[,…]", desc: "serve: the address (default: tcp://127.0.0.1:18800); port 0 is any free one" },
        on: { banner: "MECHANISM",
              desc: "serve, bench: runs the methods: threads, fibers, hybrid or processes (default: threads)" },
        limit: { banner: "N", desc: "serve: methods that run at once" },
        workers: { banner: "N", desc: "serve: processes, with --on processes (default: as many as processors)" },
        errors: { banner: "FORMAT", desc: "serve: format of errors, string, pair or named (default: string)" },
        cert: { banner: "FILE", desc: "own certificate for tls://, with its chain; call, bench: if the server demands it" },
        key: { banner: "FILE", desc: "its key" },
        threads: { banner: "N", desc: "bench: threads that share one client (default: 16)" },
        seconds: { banner: "SECONDS", desc: "bench: for each row (default: 2)" },
        quiet: { type: :boolean, desc: "no notices; results and errors only" }
      }.freeze
      EXAMPLES = {
        "plait rpc call tcp://127.0.0.1:18800 add 1 2" => "3",
        "plait rpc call unix:///tmp/nvim.sock nvim_eval '\"1 + 1\"' --json" => "Neovim's answer, as JSON",
        "plait rpc serve calculator.rb --on fibers" => "a file that ends in Calculator.new",
        "plait rpc bench" => "calls a second, on this machine"
      }.freeze
      # The words of each option.
      PARTICULAR = { "json" => %w[call bench], "timeout" => %w[call bench], "notify" => %w[call], "listen" => %w[serve],
                     "on" => %w[serve bench], "limit" => %w[serve], "workers" => %w[serve], "errors" => %w[serve],
                     "threads" => %w[bench], "seconds" => %w[bench] }.freeze

      def call
        word, *rest = words
        raise UsageError, "unknown \"plait rpc #{word}\"#{Suggestion.ending(word, WORDS)} There are #{WORDS.join(", ")}." unless
          WORDS.include?(word)

        mention_options_without_effect(word)
        verb(word).new(terminal, rest, options).call
      end

      private

      def verb(word)
        require_relative "../cli/rpc/#{word}"
        Rpc.const_get(word.capitalize)
      end

      def mention_options_without_effect(word)
        PARTICULAR.each do |option, owners|
          next if options[option].nil? || owners.include?(word)

          terminal.note("plait: --#{option} has no effect on \"rpc #{word}\"")
        end
      end
    end
  end
end
