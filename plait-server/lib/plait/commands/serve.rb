# frozen_string_literal: true

module Plait
  module CLI
    # `plait serve`
    class Serve < Command
      PLACE = 60
      USAGE = "serve [CONFIG.RU]"
      SUMMARY = "Serve a Rack app, on threads, fibers or both"
      ABOUT = <<~TEXT
        Serves the Rack app of a config.ru (default: the one in the current folder) over HTTP/1.1, and with
        TLS also over HTTP/2. A connection between two requests costs next to nothing. Each request runs in a fiber or on a
        thread. With hybrid it runs in a fiber while it waits, and on a thread if it computes.

        Settings also come from config/plait.rb, or from the file that --config names. An option wins over the file.

        Ctrl-C or SIGTERM ends it: it takes nothing new and answers the requests that run. A second one ends it at once.
        SIGUSR1 and SIGUSR2 load the app again and replace the workers, without a failed request. SIGHUP opens the logs again.
        `plait serve status`, `restart` and `stop` work from another shell, by the files of --pidfile and --state.
      TEXT
      ARGUMENTS = (0..1)
      OPTIONS = {
        config: { banner: "FILE", alias: "-C", desc: "or -C: the settings, in Ruby (default: config/plait.rb)" },
        on: { banner: "MECHANISM", desc: "threads, fibers or hybrid (default: hybrid)" },
        bind: { banner: "URL", alias: "-b",
                desc: "or -b: the address, tcp://HOST:PORT, unix:///PATH or ssl://HOST:PORT?cert=FILE&key=FILE; " \
                      "several with commas between them (default: tcp://127.0.0.1:9292)" },
        port: { banner: "N", alias: "-p", desc: "or -p: this port of all addresses, as --bind tcp://0.0.0.0:N" },
        workers: { banner: "N", alias: "-w",
                   desc: "or -w: processes that serve; a dead one is replaced; 0: this process serves; auto: as many " \
                         "as there are processors (default: WEB_CONCURRENCY, or auto)" },
        limit: { banner: "N", desc: "requests that run at once in each worker (default: 4096; on threads 16)" },
        threads: { banner: "MIN:MAX", alias: "-t", desc: "or -t, as with Puma: --on threads --limit MAX" },
        queue: { banner: "N", desc: "requests that wait; further ones get a 503 (default: 1024)" },
        drain: { banner: "SECONDS", desc: "at the end, for running requests (default: 30)" },
        grace: { banner: "SECONDS", desc: "for a replaced worker to answer a last request on each open connection " \
                                          "(default: 5)" },
        pidfile: { banner: "FILE", desc: "for the number of the process" },
        state: { banner: "FILE", alias: "-S", desc: "or -S: for the state of the server, as plait serve status reads it" },
        "access-log": { banner: "FILE", desc: "a line for each request; - is standard output" },
        "log-format": { banner: "NAME", desc: "common, combined or json (default: common)" },
        metrics: { banner: "URL", desc: "the address of /metrics for Prometheus, such as tcp://127.0.0.1:9394" },
        blocking: { banner: "SECONDS", desc: "report and count requests that block the loop of fibers for longer" },
        environment: { banner: "NAME", alias: "-e", desc: "or -e: for RACK_ENV, and for RAILS_ENV if that is not set" },
        directory: { banner: "FOLDER", alias: "--dir", desc: "the working folder" },
        json: { type: :boolean, desc: "print the status as JSON, for a program" },
        daemon: { type: :boolean, alias: "-d", instead: "nothing goes to the background here: a service manager does that, see " \
                                                        "guides/deploying.md" },
        quiet: { type: :boolean, alias: "-q", instead: "only --access-log reports requests" },
        "log-requests": { type: :boolean, alias: "-v", instead: "here it is --access-log -" },
        preload: { type: :boolean, instead: "this is the default; preload_app! false in config/plait.rb ends it" },
        "control-url": { instead: "here it is --state FILE, and plait serve status, restart and stop" }
      }.freeze
      EXAMPLES = {
        "plait serve" => "the config.ru in this folder, at http://127.0.0.1:9292/",
        "plait serve app.ru --on threads --limit 32" => "for an app that can't run in fibers",
        "plait serve --bind unix:///run/app.sock,tcp://0.0.0.0:8080" => "at two addresses",
        "plait serve restart" => "with the present app, if config/plait.rb names the PID file"
      }.freeze
      # Words that are no config.ru.
      ORDERS = %w[status restart stop].freeze

      def call
        require_relative "../cli/serve/service"
        return order(words.first) if ORDERS.include?(words.first)

        check_app if words.any?
        Service.new(words.first, options, terminal).run
        ExitStatus::OK
      end

      private

      # A word that is no file may be a misspelt order.
      def check_app
        word = words.first
        near = Suggestion.ending(word, ORDERS)
        raise UsageError, "there is no file #{word}#{near}" unless near == "." || word.include?(".") || File.exist?(word)
      end

      def order(name)
        require_relative "../cli/serve/operator"
        configuration = Service.new(nil, options, terminal).configuration(notice: ->(_) {}) # the serving process has printed it
        Operator.new(configuration, terminal, json: options["json"]).public_send(name)
      end
    end
  end
end
