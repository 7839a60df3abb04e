# frozen_string_literal: true

module Plait
  module CLI
    # `plait fetch`
    class Fetch < Command
      PLACE = 30
      USAGE = "fetch [URL ...]"
      SUMMARY = "Fetch many URLs at once, politely; goes on where it was interrupted"
      ABOUT = <<~TEXT
        Takes URLs from the command line, a file or standard input, one on each line. Blank lines and lines that start with #
        don't count. Each answer becomes one line of JSON, on standard output or in a file, or a file in a folder.

        With a file or a folder the same command goes on after an interruption, even after a kill. Nothing is in the output
        twice, nothing is lost. A journal next to the output has the progress.

        A host gets only a few requests at once, and none before the time that it asks for (Retry-After).

        Ctrl-C waits for the answers that are under way; a second one does not. The exit status is 0 if everything was fetched, 1
        if something failed (no answer, or a status of 400 and more).
      TEXT
      ARGUMENTS = (0..10_000_000)
      NO_CRAWL = "plait fetch no longer follows links; give it the URLs"

      OPTIONS = {
        from: { banner: "FILE", desc: "read the URLs from there; - is standard input, as without it and without a URL" },
        out: { banner: "DIR|FILE.jsonl|-", default: "-", desc: "the output; - is standard output" },
        on: { banner: "MECHANISM", desc: "sequence, threads, fibers, hybrid, processes, or two composed, as in " \
                                         "processes+fibers (default: fibers)" },
        limit: { banner: "N", desc: "requests at once (default: 64; with processes, as many as there are processors)" },
        "per-host": { banner: "N", default: "6", desc: "requests at once to one host and port; with processes, in each process" },
        rate: { banner: "N/s", desc: "requests in a second at most; N/m and N/h for a minute and an hour" },
        retries: { banner: "N", default: "2", desc: "further attempts where they may help" },
        timeout: { banner: "SECONDS", default: "60", desc: "for each request, from its start to the end of its answer" },
        method: { banner: "METHOD", desc: "of each request (default: GET; with --data POST)" },
        header: { banner: "NAME: VALUE", alias: "-H", repeatable: true,
                  desc: "sent with each request; may be given several times" },
        data: { banner: "TEXT|@FILE", desc: "body of each request, a form where no --header says otherwise" },
        "user-agent": { banner: "TEXT", desc: "instead of plait/VERSION" },
        proxy: { banner: "URL", desc: "http://host:port or socks5://host:port (default: as the environment says)" },
        cacert: { banner: "FILE", desc: "certificates to trust instead of the system's" },
        insecure: { type: :boolean, desc: "accept any certificate" },
        json: { banner: "[FILE]", lazy: "-", desc: "the summary as JSON; without FILE to standard output" },
        quiet: { type: :boolean, desc: "no progress; the summary and errors only" },
        crawl: { type: :boolean, instead: NO_CRAWL },
        depth: { instead: NO_CRAWL },
        pages: { instead: NO_CRAWL }
      }.freeze
      EXAMPLES = {
        "plait fetch https://example.org/" => "one answer, as JSON",
        "plait fetch --from urls.txt --out answers.jsonl" => "many; the same command goes on after an interruption",
        "sort urls.txt | plait fetch --out pages --limit 500 --rate 200/s" => "a file for each, not too fast",
        "plait fetch --from users.txt -H 'Authorization: Bearer secret'" => "with a header"
      }.freeze

      def call
        require_relative "../cli/fetch/run"
        require_relative "../cli/fetch/settings"
        Run.new(Settings.new(words, options), terminal).call
      end
    end
  end
end
