# frozen_string_literal: true

require "plait/cli/command"
require "plait/cli/exit_status"
require "plait/values/suggestion"
require "plait/values/errors"

module Plait
  module CLI
    # `plait serve`
    class Serve < Command
      PLACE = 60
      USAGE = "serve [CONFIG.RU]"
      SUMMARY = "Serve a Rack app, on threads, fibers or both"
      ABOUT = <<~TEXT
        Serves the Rack app of a config.ru (without one named, of that in the current folder) over HTTP/1.1, and HTTP/2 where
        TLS is spoken and the gem http-2 is there. Connections between two requests cost next to nothing; each request runs in
        a fiber, a thread, or (hybrid) in a fiber as long as it waits there and on a thread if it computes.

        What is said in config/plait.rb, or in the file that --config names, counts where no option says something else.

        Ctrl-C or SIGTERM ends it: no further request is taken, and running ones are answered; a second one does not wait.
        SIGUSR1 and SIGUSR2 load the app again and replace the workers, without a failed request; SIGHUP reopens the logs.
        `plait serve status`, `restart` and `stop` do so from elsewhere, by the files of --pidfile and --state.
      TEXT
      ARGUMENTS = (0..1)
      OPTIONS = {
        config: { banner: "FILE", alias: "-C", desc: "or -C: how to serve, in Ruby (default: config/plait.rb)" },
        on: { banner: "MECHANISM", desc: "threads, fibers or hybrid (default: hybrid)" },
        bind: { banner: "URL", alias: "-b",
                desc: "or -b: where to listen: tcp://HOST:PORT, unix:///PATH or ssl://HOST:PORT?cert=FILE&key=FILE; " \
                      "several with commas between them (default: tcp://127.0.0.1:9292)" },
        port: { banner: "N", alias: "-p", desc: "or -p: to listen at this port of all addresses, as by --bind tcp://0.0.0.0:N" },
        workers: { banner: "N", alias: "-w",
                   desc: "or -w: processes that serve; one that dies is replaced; 0: this process serves; auto: as many " \
                         "as there are processors (default: WEB_CONCURRENCY, or auto)" },
        limit: { banner: "N", desc: "requests that run at once in each (default: 4096; on threads 16)" },
        threads: { banner: "MIN:MAX", alias: "-t", desc: "or -t, as Puma has it: --on threads --limit MAX" },
        queue: { banner: "N", desc: "requests that wait for that; further ones are answered 503 (default: 1024)" },
        drain: { banner: "SECONDS", desc: "at the end, for running requests (default: 30)" },
        grace: { banner: "SECONDS", desc: "in which a worker that is replaced answers a last request on each open connection " \
                                          "(default: 5)" },
        pidfile: { banner: "FILE", desc: "that has the number of the process" },
        state: { banner: "FILE", alias: "-S", desc: "or -S: that tells how the server is, for plait serve status" },
        "access-log": { banner: "FILE", desc: "a line for each request; - is standard output" },
        "log-format": { banner: "NAME", desc: "common, combined or json (default: common)" },
        metrics: { banner: "URL", desc: "where Prometheus finds /metrics, such as tcp://127.0.0.1:9394" },
        blocking: { banner: "SECONDS", desc: "report, and count, requests that hold up the loop of fibers for longer" },
        environment: { banner: "NAME", alias: "-e", desc: "or -e: for RACK_ENV, and RAILS_ENV where that is not set" },
        directory: { banner: "FOLDER", alias: "--dir", desc: "to go to first" },
        json: { type: :boolean, desc: "print the status as JSON, for a program" },
        daemon: { type: :boolean, alias: "-d", instead: "nothing goes to the background here: a service manager does that, see " \
                                                        "guides/deploying.md" },
        quiet: { type: :boolean, alias: "-q", instead: "requests are logged only with --access-log" },
        "log-requests": { type: :boolean, alias: "-v", instead: "here it is --access-log -" },
        preload: { type: :boolean, instead: "it is so anyhow; preload_app! false in config/plait.rb ends that" },
        "control-url": { instead: "here it is --state FILE, and plait serve status, restart and stop" }
      }.freeze
      EXAMPLES = {
        "plait serve" => "the config.ru in this folder, at http://127.0.0.1:9292/",
        "plait serve app.ru --on threads --limit 32" => "for an app that was not written for fibers",
        "plait serve --bind unix:///run/app.sock,tcp://0.0.0.0:8080" => "at two places",
        "plait serve restart" => "with the app as it is now; where config/plait.rb names the PID file"
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
        configuration = Service.new(nil, options, terminal).configuration(notice: ->(_) {}) # the server has reported it
        Operator.new(configuration, terminal, json: options["json"]).public_send(name)
      end
    end
  end
end
