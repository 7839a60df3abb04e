# frozen_string_literal: true

require "thor"
require_relative "../values/errors"
require_relative "compare"
require_relative "doctor"
require_relative "fetch"
require_relative "help"
require_relative "lab"
require_relative "rpc"
require_relative "serve"
require_relative "shard"
require_relative "../values/suggestion"
require_relative "suite_names"
require_relative "version"

module Plait
  module CLI
    # The table of commands, as Thor dispatches them.
    class Commands < Thor
      ALL = [Lab, Compare, Fetch, Rpc, Serve, Shard, Doctor, Version, Help].freeze

      check_unknown_options!
      remove_command :tree, :help
      ALL.each { |command| command.declare(self) }
      Help.commands = ALL
      map %w[-v --version] => :version

      # Thor asks; errors leave it as exceptions (debug: true) and {CLI.start} makes sentences of them.
      def self.exit_on_failure? = true

      # Thor calls it.
      # @raise [UsageError]
      def self.handle_no_command_error(word, *)
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
