# frozen_string_literal: true

require_relative "command"
require_relative "exit_status"

module Plait
  module CLI
    # `plait serve`
    class Serve < Command
      USAGE = "serve [CONFIG.RU]"
      SUMMARY = "Serve a Rack app, on threads, fibers or both"
      ABOUT = <<~TEXT
        Serves the Rack app of a config.ru (without one named, of that in the current folder) over HTTP/1.1. Connections
        between two requests cost next to nothing; each request runs in a fiber, a thread, or (hybrid) in a fiber as long as
        it waits there and on a thread if it computes.

        Ctrl-C or SIGTERM ends it: nothing new is taken, and what was begun is answered; a second one does not wait for that.
      TEXT
      ARGUMENTS = (0..1)
      OPTIONS = {
        on: { banner: "MECHANISM", default: "hybrid", desc: "threads, fibers or hybrid" },
        bind: { banner: "URL", default: "tcp://127.0.0.1:9292", desc: "where to listen: tcp://HOST:PORT, " \
                                                                      "unix:///PATH or ssl://HOST:PORT?cert=FILE&key=FILE; " \
                                                                      "several with commas between them" },
        workers: { banner: "N", desc: "processes that serve; one that dies is replaced (default: this process serves)" },
        limit: { banner: "N", desc: "requests that run at once (default: 4096; on threads 16)" },
        queue: { banner: "N", default: "1024", desc: "requests that wait for that; further ones are answered 503" },
        drain: { banner: "SECONDS", default: "30", desc: "at the end, for what was begun" }
      }.freeze
      EXAMPLES = {
        "plait serve" => "the config.ru in this folder, at http://127.0.0.1:9292/",
        "plait serve app.ru --on threads --limit 32" => "as an app wants it that is no friend of fibers",
        "plait serve --bind unix:///run/app.sock,tcp://0.0.0.0:8080" => "at two places"
      }.freeze

      def call
        require_relative "serve/service"
        Service.new(words.first || "config.ru", options, terminal).run
        ExitStatus::OK
      end
    end
  end
end
