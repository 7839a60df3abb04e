# frozen_string_literal: true

require_relative "exit_status"

module Plait
  module CLI
    # One verb of the command line. A subclass has its name, options and texts in constants, and does its work in {#call},
    # which loads the files it needs, so that `plait version` stays quick.
    class Command
      # Where it stands in the list of commands: smaller ones first.
      PLACE = 50
      # The words after "plait".
      USAGE = ""
      # One line for the list of commands.
      SUMMARY = ""
      # Paragraphs for a newcomer.
      ABOUT = ""
      # Name of an option => its value's name (`banner`), description and default (`desc`, `default`); `type: :boolean`
      # takes no value, `repeatable: true` makes an Array of several, `lazy:` is the value where the option stands alone,
      # `alias:` a short name. With `instead:` it is one of other programs, and this is to be said of it.
      OPTIONS = {}.freeze
      EXAMPLES = {}.freeze
      # Number of words, options not counted.
      ARGUMENTS = (0..0)
      MOST_WORDS = ["no argument", "one argument at most", "two arguments at most", "three arguments at most"].freeze

      # @return [String] as typed
      def self.command_name = self::USAGE[/\A\w+/]

      # The contents of `plait help NAME`.
      # @param _topic [String, nil] the word after the name
      # @return [Hash{Symbol => Object}] usage, about, options and examples
      def self.manual(_topic = nil) = { usage: self::USAGE, about: self::ABOUT, options: self::OPTIONS, examples: self::EXAMPLES }

      # @param words [Array<String>] the words that are no options
      # @param options [Hash] by option name
      def initialize(terminal, words, options)
        @terminal = terminal
        @words = words
        @options = options
      end

      # Checks the number of words, then does the work.
      # @return [Integer] an exit status
      # @raise [UsageError]
      def run
        check_options
        check_words
        terminal.quiet = options["quiet"]
        call
      end

      # @return [Integer] an exit status
      def call = raise(NotImplementedError, "#{self.class}#call")

      private

      attr_reader :terminal, :words, :options

      def check_options
        name, settings = self.class::OPTIONS.find { |one, about| about[:instead] && options[one.to_s] }
        raise UsageError, "#{["--#{name}", *settings[:alias]].join(", ")}: #{settings[:instead]}" if name
      end

      def check_words
        name = self.class.command_name
        return missing_word if words.size < self.class::ARGUMENTS.min
        return if words.size <= most_words

        raise UsageError, "plait #{name} takes #{MOST_WORDS.fetch(most_words)}: " \
                          "\"#{words[most_words]}\" is one too many; see plait help #{name}"
      end

      def most_words = self.class::ARGUMENTS.max

      def missing_word
        raise UsageError, "plait #{self.class.command_name} lacks an argument; its usage is: plait #{self.class::USAGE}"
      end
    end
  end
end
