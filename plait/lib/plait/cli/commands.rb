# frozen_string_literal: true

require "thor"
require_relative "../parts"
require_relative "../sibling"
require_relative "../values/errors"
require_relative "../values/suggestion"
require_relative "command"
require_relative "suite_names"

module Plait
  module CLI
    # The commands of all gems of the family that are installed, as Thor dispatches them: each is a file plait/commands/NAME.rb.
    class Commands < Thor
      PARTS = Parts.new("commands")
      ALL = PARTS.load.map { |name| CLI.const_get(name.capitalize) }.sort_by { |command| command::PLACE }.freeze
      # What the other gems of the family bring.
      GEMS = { "fetch" => "plait-http", "rpc" => "plait-rpc", "serve" => "plait-server", "shard" => "plait-shard" }.freeze
      private_constant :PARTS, :GEMS

      check_unknown_options!
      remove_command :tree, :help
      ALL.each { |command| command.declare(self) }
      Command.known = ALL
      Command.complaints = PARTS.broken.map do |name, error|
        "plait #{name} can't be loaded: #{error.message.lines.first.to_s.chomp}"
      end
      map %w[-v --version] => :version

      # Thor asks; errors leave it as exceptions (debug: true) and {CLI.start} makes sentences of them.
      def self.exit_on_failure? = true

      # Thor calls it.
      # @raise [UsageError]
      def self.handle_no_command_error(word, *)
        raise PARTS.broken.fetch(word) if PARTS.broken.key?(word)
        raise UsageError, "plait #{word} is in the gem #{GEMS[word]}: gem install #{GEMS[word]}" if GEMS.key?(word)

        names = ALL.map(&:command_name)
        ending = elsewhere(word)&.then { |near| Suggestion.asking(near) } || Suggestion.ending(word, names)
        raise UsageError, "unknown command \"#{word}\"#{ending} The commands are #{names.join(", ")}."
      end

      # A suite or a file without the command before it.
      def self.elsewhere(word)
        return "plait compare #{word}" if word.end_with?(".rb")

        "plait lab #{word}" if SuiteNames::WORDS.include?(word)
      end
      private_class_method :elsewhere
    end
  end
end
