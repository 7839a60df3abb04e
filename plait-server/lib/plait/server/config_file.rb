# frozen_string_literal: true

require_relative "config_file/foreign_words"
require_relative "config_file/process_words"
require_relative "config_file/request_words"
require_relative "config_file/socket_words"
require_relative "config_file/watching_words"
require "plait/values/errors"
require "plait/values/suggestion"
require "plait/values/system_reason"

module Plait
  class Server
    # A config/plait.rb: Ruby in which the words of this class say how to serve. They are those of Puma's config/puma.rb as far
    # as these mean something here.
    class ConfigFile
      include ForeignWords
      include ProcessWords
      include RequestWords
      include SocketWords
      include WatchingWords

      # Looked for where no other one is named.
      PATH = "config/plait.rb"
      # What every object answers to, and what makes the settings: no words of the file.
      OWN_WORDS = [ProcessWords, RequestWords, SocketWords, WatchingWords].flat_map(&:public_instance_methods).sort
      # With those that mean nothing here.
      WORDS = OWN_WORDS + ForeignWords.public_instance_methods
      # A unit of memory => bytes.
      BYTES = { "k" => 1 << 10, "m" => 1 << 20, "g" => 1 << 30 }.freeze

      # @param path [String]
      # @param notice [#call] told what has no meaning here
      # @return [Hash{Symbol => Object}] for {Configuration.of}
      # @raise [UsageError] with the line
      def self.read(path, notice: ->(_) {})
        source = File.read(path, encoding: Encoding::UTF_8)
        new(path, notice).evaluate(source)
      rescue SystemCallError => e
        raise UsageError, "#{path} can't be read: #{SystemReason.of(e)}"
      end

      # @param path [String]
      # @param notice [#call]
      # @api private
      def initialize(path, notice)
        @path = path
        @notice = notice
        @settings = Hash.new { |hash, key| hash[key] = [] }
        @server = {}
      end

      # @param source [String]
      # @return [Hash{Symbol => Object}]
      # @api private
      def evaluate(source)
        EVALUATION.call(self, source, @path)
        { **@settings, server: @server }
      rescue SyntaxError => e
        raise UsageError, "#{@path} does not parse: #{e.message.lines.first(2).map(&:strip).join(" ")}"
      rescue UsageError
        raise
      rescue StandardError, ScriptError, SystemStackError => e
        raise UsageError, "#{place(e.backtrace_locations)}: #{e.class}: #{e.message.lines.first.to_s.strip}"
      end

      private

      def method_missing(word, *)
        raise UsageError, "#{place}: there is no word `#{word}`#{near(word) || ". The words are #{OWN_WORDS.join(", ")}"}"
      end

      def respond_to_missing?(*) = false

      def place(locations = caller_locations) = [@path, locations&.find { |one| one.path == @path }&.lineno].compact.join(":")

      def near(word)
        found = Suggestion.nearest(word.to_s, WORDS.map(&:to_s))
        "; did you mean `#{found}`?" if found
      end

      def refuse(what) = raise(UsageError, "#{place}: #{what}")

      # What others refuse is refused with its line, too.
      def located
        yield
      rescue UsageError => e
        refuse(e.message)
      end

      # @return [String, nil] nil: nothing is said, as by a variable of the environment that is not set
      def text(word, value)
        value.to_s.empty? && !value.nil? ? refuse("#{word} takes text, not #{value.inspect}") : value&.to_s
      end

      # @return [Boolean, nil]
      def answer(word, value)
        [true, false, nil].include?(value) ? value : refuse("#{word} takes true or false, not #{value.inspect}")
      end

      # As numbers often come from the environment, as text.
      def count(word, value, from: 1)
        number = Integer(value.to_s, exception: false)
        number && number >= from ? number : refuse("#{word} takes a number from #{from} on, not #{value.inspect}")
      end

      def seconds(word, value)
        number = number(value)
        number&.positive? ? number : refuse("#{word} takes seconds above 0, not #{value.inspect}")
      end

      # Zero is a time, too.
      def time(word, value)
        number = number(value)
        number && number >= 0 ? number : refuse("#{word} takes seconds, not #{value.inspect}")
      end

      def number(value) = value.is_a?(Numeric) ? value : Float(value.to_s, exception: false)

      # @return [Integer] of 300 (megabytes), "300MB", "512M" or "1.5 GB"
      def bytes(word, value)
        number, unit = value.to_s.match(/\A(\d+(?:\.\d+)?)\s*(?:([kmg])i?b?)?\z/i)&.captures
        return (number.to_f * BYTES.fetch(unit ? unit.downcase : "m")).to_i if number&.to_f&.positive?

        refuse("#{word} takes megabytes, or text such as \"512MB\", not #{value.inspect}")
      end

      def hook(word, block) = block || refuse("#{word} takes a block")
    end
  end
end

# Out here, where no constant of ours comes before the app's own: DB, Metrics, Options.
Plait::Server::ConfigFile::EVALUATION = ->(file, source, path) { file.instance_eval(source, path, 1) }
