# frozen_string_literal: true

require "optparse"
require_relative "../parts"
require_relative "../sibling"

module Plait
  module CLI
    # The commands of all gems of the family that are installed: each is a file plait/commands/NAME.rb. Only the named command is
    # loaded; `plait help` and an unknown word load all of them.
    module Commands
      PARTS = Parts.new("commands")
      # Options that stand in the place of a command.
      SHORT = { "-v" => "version", "--version" => "version", "-h" => "help", "--help" => "help", "-?" => "help" }.freeze

      # The options of one command, read by the standard library's parser. Values stay Strings: the parser's own sentences about
      # numbers don't say what would be right.
      class Options < OptionParser
        # Words that are values, although they begin with a dash: a negative number, and standard output.
        DASHED = /\A-(\z|[\d.])/

        # @param declared [Hash] see {Command::OPTIONS}
        def initialize(declared)
          super()
          @declared = declared.transform_keys(&:to_s)
          @valued = @declared.select { |name, _| valued?(name) }.flat_map { |name, settings| ["--#{name}", *settings[:alias]] }
          @values = @declared.transform_values { |settings| settings[:default] }.compact
          @declared.each { |name, settings| declare(name, settings) }
        end

        # @return [Array(Array<String>, Hash)] the words, and the options' values by name
        def split(argv)
          check(argv.take_while { |word| word != "--" })
          words = permute(join(argv))
          [words, @values]
        rescue InvalidOption => e
          unknown(e.args.first)
        rescue NeedlessArgument => e
          raise UsageError, "#{e.args.join[/\A[^=]+/]} takes no value"
        end

        private

        # Plait has a help and a version of its own.
        def add_officious = nil

        def declare(name, settings)
          on(*settings[:alias], "--#{name}#{" [VALUE]" if valued?(name)}") do |value|
            value = settings.fetch(:lazy, "") if value.nil?
            @values[name] = settings[:repeatable] ? [*@values[name], value] : value
          end
          on("--no-#{name}") { @values[name] = valued?(name) ? nil : false }
        end

        def valued?(name) = @declared[name][:type] != :boolean

        # The parser would take the beginning of an option for the option.
        def check(words)
          known = [*@declared.keys.flat_map { |name| ["--#{name}", "--no-#{name}"] }, *short]
          words.each do |word|
            switch = word.start_with?("--") ? word[/\A[^=]*/].tr("_", "-") : word[/\A-.?/]
            unknown(word) unless switch.nil? || DASHED.match?(word) || known.include?(switch)
          end
        end

        def short = @declared.values.flat_map { |settings| Array(settings[:alias]) }

        # The parser would take the "-1" of "--rounds -1" for an option.
        def join(argv)
          argv.each_with_object([]) do |word, joined|
            option = joined.last if DASHED.match?(word) && @valued.include?(joined.last)
            option ? joined[-1] = "#{option}#{"=" if option.start_with?("--")}#{word}" : joined << word
          end
        end

        def unknown(word)
          ending = Suggestion.ending(word, @declared.keys.map { |name| "--#{name}" })
          raise UsageError, "unknown option #{word}#{ending} plait help COMMAND lists a command's options."
        end
      end

      class << self
        # @return [Array<Class<Command>>] in the order of their places; loads all
        def all = @all ||= PARTS.load.map { |name| named(name) }.sort_by { |command| command::PLACE }.freeze

        # @return [Array<String>] a line for each command that is installed and can't be loaded
        def complaints = PARTS.broken.map { |name, error| complaint(name, error) }

        # @param argv [Array<String>] a command, its words and its options; no command is help
        # @return [Integer] an exit status
        # @raise [UsageError]
        def start(argv, terminal)
          first, *rest = argv
          name = first.nil? || first.start_with?("-") ? SHORT[first] : first
          command = find(name || "help")
          words, options = Options.new(command::OPTIONS).split(name ? rest : argv)
          command.new(terminal, words, options).run
        end

        # @param word [String] a command's name, or the beginning of one name only
        def find(word)
          meant = PARTS.names.select { |name| name.start_with?(word) }
          name = meant.include?(word) || meant.size != 1 ? word : meant.first
          return named(name) if PARTS.load([name]).any?

          refuse(name, PARTS.broken[name]) if PARTS.broken.key?(name)
          gem = Sibling.gem_of("commands/#{word}")
          raise UsageError, gem ? "plait #{word} is in the gem #{gem}: gem install #{gem}" : unknown(word)
        end

        private

        def complaint(name, error) = "plait #{name} can't be loaded: #{error.message.lines.first.to_s.chomp}"

        # Plait's own errors speak for themselves.
        def refuse(name, error)
          raise error if error.is_a?(Error)

          raise UnsupportedError, "#{complaint(name, error)} (#{error.class}; PLAIT_DEBUG=1 shows where)", cause: error
        end

        def named(name) = CLI.const_get(name.capitalize)

        def unknown(word)
          names = all.map(&:command_name)
          ending = elsewhere(word)&.then { |near| Suggestion.asking(near) } || Suggestion.ending(word, names)
          "unknown command \"#{word}\"#{ending} The commands are #{names.join(", ")}."
        end

        # A suite or a file without the command before it.
        def elsewhere(word)
          return "plait compare #{word}" if word.end_with?(".rb")

          "plait lab #{word}" if [*Parts.new("suites").names, "all"].include?(word)
        end
      end
    end
  end
end
