# frozen_string_literal: true

require "optparse"

module Bench
  module Harness
    # What the command line asks for.
    Options = Struct.new(:quick, :json, :markdown, :rounds, :only, :seed, keyword_init: true) do
      # @param subject [String]
      # @param arguments [Array<String>]
      # @return [Options]
      # @raise [OptionParser::ParseError]
      def self.parse(subject, arguments) = new(only: []).tap { |options| parser(subject, options).parse!(arguments.dup) }

      def self.parser(subject, options)
        OptionParser.new("Usage: bin/bench #{subject} [options]") do |parser|
          parser.on("--quick", "small sizes, few rounds: under a minute") { options.quick = true }
          parser.on("--json FILE", "write the report for machines to FILE") { |file| options.json = file }
          parser.on("--markdown FILE", "write the report for people to FILE") { |file| options.markdown = file }
          parser.on("--rounds N", Integer, "rounds of every case") { |number| options.rounds = positive(number) }
          parser.on("--only CASE", "only cases named like CASE; may be repeated") { |name| options.only << name }
          parser.on("--seed N", Integer, "the order of an earlier run") { |number| options.seed = number }
        end
      end

      def self.positive(number) = number.positive? ? number : raise(OptionParser::InvalidArgument, "must be at least 1")

      # @param cases [Array<Case>]
      # @return [Array<Case>]
      def select(cases)
        only.empty? ? cases : cases.select { |bench_case| only.any? { |part| bench_case.name.include?(part) } }
      end
    end
  end
end
