# frozen_string_literal: true

require_relative "cli/commands"
require_relative "cli/exit_status"
require_relative "cli/failure"
require_relative "cli/signals"
require_relative "cli/terminal"

module Plait
  # The command line: `plait lab`, `plait compare`, `plait doctor`.
  module CLI
    HELP = %w[-h --help].freeze

    # Runs one command. Whatever goes wrong becomes one sentence on standard error and an exit status.
    # @param argv [Array<String>]
    # @param terminal [Terminal]
    # @return [Integer] an {ExitStatus}
    def self.start(argv, terminal: Terminal.new)
      Signals.handle { Commands.start(arrange(argv), shell: terminal, debug: true) }
    rescue Terminal::Closed
      ExitStatus::OK
    rescue StandardError, ScriptError, NoMemoryError, SystemStackError, Interrupt => e
      Failure.new(e).tell(terminal)
    end

    # `plait lab --help` is `plait help lab`.
    def self.arrange(argv)
      words = argv.take_while { |word| word != "--" }
      asks = words.size > 1 && HELP.intersect?(words.drop(1)) && !words.first.start_with?("-")
      asks ? ["help", words.first] : argv
    end
    private_class_method :arrange
  end
end
