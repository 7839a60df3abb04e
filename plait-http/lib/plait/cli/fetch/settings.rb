# frozen_string_literal: true

require "plait/mechanisms"
require "plait/values/errors"
require "plait/cli/arguments"
require "plait/cli/command"
require_relative "descriptors"
require_relative "lines"
require_relative "rate"
require_relative "words"

module Plait
  module CLI
    class Fetch < Command
      # The words and options of the command line, as values. Whatever is wrong with them is said before anything is sent
      # or written.
      class Settings
        # Requests at once.
        LIMIT = 64

        # @return [Symbol, Array<Symbol>]
        attr_reader :on
        # @return [Integer]
        attr_reader :limit, :per_host, :retries, :depth, :pages
        # @return [Rate, nil]
        attr_reader :rate
        # @return [Float] seconds
        attr_reader :timeout
        # @return [String] "-", a path
        attr_reader :out
        # @return [String, nil] likewise
        attr_reader :json
        # @return [Boolean]
        attr_reader :crawl

        # @param words [Array<String>] URLs
        # @param options [Hash] by option name
        # @param input [IO] standard input
        # @raise [UsageError]
        def initialize(words, options, input: $stdin)
          @words = words
          @options = options
          @input = input
          @on = mechanism
          read_numbers
          @rate = Rate.parse("--rate", text("rate")) if options["rate"]
          @timeout = Arguments.positive("--timeout", options["timeout"])
          @out = text("out")
          @json = text("json") if options["json"]
          @crawl = options["crawl"] || false
          check
          Descriptors.provide(@limit)
        end

        # @return [Lines, Words] a new one, at its beginning
        # @raise [UsageError] when a file can't be read
        def source
          return Words.new(@words) if @words.any?

          path = @options["from"]
          Lines.new(path.nil? || path == "-" ? @input : File.open(path, "rb"))
        rescue SystemCallError => e
          raise UsageError, "#{path} can't be read: #{e.message[/\A[^@]+/].strip}"
        end

        private

        def text(name) = Arguments.text("--#{name}", @options[name])

        def read_numbers
          @limit = @options["limit"] ? count("limit") : default_limit
          @per_host, @depth, @pages = %w[per-host depth pages].map { |name| count(name) }
          @retries = Arguments.integer("--retries", @options["retries"])
          raise UsageError, "--retries #{@retries}: can't be negative" if @retries.negative?
        end

        def count(name) = Arguments.count("--#{name}", @options[name])

        def mechanism
          return default_mechanism unless @options["on"]

          first, second = Arguments.mechanisms("--on", @options["on"], Mechanisms.names)
          raise UsageError, "--on #{@options["on"]}: takes one mechanism" if second
          raise UsageError, "--on ractors: a ractor can't use a connection; processes use every core" if first == :ractors

          first
        end

        # A process is no small thing.
        def default_limit = @on == :processes ? Mechanisms.find(@on).default_limit : LIMIT

        def default_mechanism = Mechanisms.find(:fibers).unavailable ? :threads : :fibers

        def check
          raise UsageError, "--from and URLs besides: give the one or the other" if @options["from"] && @words.any?
          raise UsageError, "--json and --out can't both go to standard output: name a file for one" if [@json, @out] == %w[- -]
          raise UsageError, nothing if @words.empty? && @options["from"].nil? && @input.tty?

          check_summary
        end

        # It is written last, and would take the place of what it sums up.
        def check_summary
          return if @json.nil? || @json == "-"

          { "--out" => @out, "--from" => @options["from"] }.each do |option, path|
            next unless path && File.expand_path(path) == File.expand_path(@json)

            raise UsageError, "--json #{@json} would replace the file of #{option}: name another one"
          end
        end

        def nothing = "there is nothing to fetch: give URLs, --from FILE, or a list of them on standard input"
      end
    end
  end
end
