# frozen_string_literal: true

require_relative "values"
require_relative "cli/arguments"
require_relative "cli/command"
require_relative "cli/commands"
require_relative "cli/exit_status"
require_relative "cli/failure"
require_relative "cli/signals"
require_relative "cli/terminal"

module Plait
  # The command line: `plait lab`, `plait compare`, `plait fetch`, `plait rpc`, `plait serve`, `plait shard`, `plait doctor`.
  module CLI
    HELP = %w[-h --help].freeze
    private_constant :HELP

    # Runs one command. An error becomes one sentence on standard error and an exit status.
    # @return [Integer] an {ExitStatus}
    def self.start(argv, terminal: Terminal.new)
      take_names_for_utf8
      Signals.status(run(argv, terminal))
    end

    def self.run(argv, terminal)
      Signals.handle { Commands.start(arrange(argv), terminal) }
    rescue Terminal::Closed
      ExitStatus::OK
    rescue StandardError, ScriptError, NoMemoryError, SystemStackError, Interrupt => e
      Failure.new(e).tell(terminal)
    end

    # `plait lab --help` is `plait help lab`.
    def self.arrange(argv)
      argv = argv.map { |word| legible(word) }
      raise UsageError, "the command is empty; see plait help" if argv.first == ""

      words = argv.take_while { |word| word != "--" }
      asks = words.size > 1 && HELP.intersect?(words.drop(1)) && !words.first.start_with?("-")
      asks ? ["help", words.first] : argv
    end

    # In an ASCII locale, names of files may have other characters: Ruby can't join such a path
    # to the name of a folder unless both are of one encoding.
    def self.take_names_for_utf8
      return unless Encoding.default_external == Encoding::US_ASCII

      verbose = $VERBOSE
      $VERBOSE = nil
      Encoding.default_external = Encoding::UTF_8
      $VERBOSE = verbose
    end

    def self.legible(word)
      word = word.dup.force_encoding(Encoding::UTF_8) if [Encoding::US_ASCII, Encoding::BINARY].include?(word.encoding)
      return word if word.valid_encoding?

      raise UsageError, "the argument #{word.inspect} has bytes that are no characters of #{word.encoding}"
    end
    private_class_method :run, :arrange, :take_names_for_utf8, :legible
  end
end
