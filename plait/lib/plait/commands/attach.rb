# frozen_string_literal: true

module Plait
  module CLI
    # `plait attach`
    class Attach < Command
      PLACE = 17
      USAGE = "attach SOCKET"
      SUMMARY = "Show what a running program waits for"
      ARGUMENTS = (1..1)
      ABOUT = <<~TEXT
        The program listens at a socket, which is of its user alone:

          Plait::Lab.watch(socket: "tmp/plait.sock")
          use Plait::Lab::RackWatch, socket: "tmp/plait-%p.sock"    # in a config.ru: one for each process

        The screen shows what threads and fibers are at, on average of the last interval: how many, and in which line. It
        shows how late event loops are, and what pools and queues say. Ctrl-C ends it, and leaves the program alone.

        Without a terminal it prints one interval and ends.
      TEXT
      OPTIONS = {
        interval: { banner: "SECONDS", default: "1", desc: "the time between two screens" },
        json: { type: :boolean, desc: "the figures since the program's start as JSON, once" }
      }.freeze
      EXAMPLES = { "plait attach tmp/plait.sock" => "a new screen each second" }.freeze

      def call
        seconds = Arguments.positive("--interval", options["interval"])
        require_relative "../cli/attachment"
        attachment = Attachment.new(terminal, words.first)
        options["json"] ? attachment.print_json : attachment.show(seconds)
        ExitStatus::OK
      end
    end
  end
end
