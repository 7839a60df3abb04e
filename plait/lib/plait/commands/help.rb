# frozen_string_literal: true

require_relative "../cli/commands"

module Plait
  module CLI
    # `plait help`, `plait help lab`; `plait help rpc call` is about rpc
    class Help < Command
      PLACE = 100
      USAGE = "help [COMMAND]"
      SUMMARY = "Explain Plait, or one of its commands"
      ABOUT = "Without a command: the list of them."
      ARGUMENTS = (0..2)

      INTRODUCTION = <<~TEXT
        Plait runs the same plain Ruby in sequence, on threads, fibers, processes or ractors. It measures time and memory, and
        says which one to use.
      TEXT

      def call
        words.empty? ? overview : explain(**Commands.find(words.first).manual(words[1]))
        ExitStatus::OK
      end

      private

      def overview
        terminal.say(*paragraphs(INTRODUCTION), "", heading("Usage:"), "  plait COMMAND [options]")
        section("Commands:", Commands.all.to_h { |command| [command::USAGE, command::SUMMARY] })
        section("Start with:", beginnings)
        Commands.complaints.each { |line| terminal.note("plait: #{line}") }
      end

      def beginnings
        { "plait lab" => "every mechanism on waiting, computing, HTTP and MessagePack-RPC; a few minutes",
          "plait help lab" => "the suites and the options", "plait doctor" => "the limits of this machine" }
      end

      def explain(usage:, about:, options:, examples:)
        terminal.say(heading("Usage:"), "  plait #{usage}#{" [options]" unless options.empty?}", "", *paragraphs(about))
        own = options.reject { |_, settings| settings[:instead] }
        section("Options:", own.to_h { |name, settings| option(name, settings) })
        section("Examples:", examples)
      end

      def section(title, texts) = texts.empty? || terminal.say("", heading(title), *pairs(texts))

      def option(name, settings)
        default = settings[:default]
        ["--#{name}#{" " if settings[:banner]}#{settings[:banner]}",
         "#{settings[:desc]}#{" (default: #{default})" if default}"]
      end

      def heading(text) = terminal.paint(text, :bold)

      # @return [Array<String>] lines; a paragraph that begins with a no-break space is code and not wrapped
      def paragraphs(text) = text.split("\n\n").flat_map { |part| ["", *lines(part)] }.drop(1)

      def lines(part) = part.start_with?("\u00a0") ? part.tr("\u00a0", " ").lines(chomp: true) : TextTable.wrap(part, width)

      # Two columns; the second is wrapped beside the first, or under it where the first is long.
      def pairs(texts)
        left = [texts.keys.map(&:size).max, 34].min
        texts.flat_map { |first, second| pair(first, TextTable.wrap(second, [width - left - 4, 24].max), left) }
      end

      def pair(first, lines, left)
        lines = ["", *lines] if first.size > left
        lines.each_with_index.map { |line, index| "  #{(index.zero? ? first : "").ljust(left)}  #{line}".rstrip }
      end

      def width = [terminal.width || 100, 100].min
    end
  end
end
