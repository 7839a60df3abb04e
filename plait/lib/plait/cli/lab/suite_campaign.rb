# frozen_string_literal: true

require_relative "../campaign"
require_relative "../outputs"
require_relative "../../parts"
require_relative "../../suites"

module Plait
  module CLI
    class Lab < Command
      # Measures one suite, or all.
      class SuiteCampaign < Campaign
        # Every suite, one after the other.
        ALL = "all"
        # Read off the names of files, since no suite has to be loaded for them.
        WORDS = [*Parts.new("suites").names, ALL].freeze
        # Seconds: with what starting and counting takes, "all" stays below four minutes on a slow machine with two cores.
        BUDGET = 200.0
        # Seconds for a suite with --full.
        FULL_BUDGET = 3600.0
        # Options that some suites take: one without effect is worth a word.
        PARTICULAR = %w[scale requests latency url limit sizes full].freeze

        # @param words [Array<String>] the suite, or nothing
        def initialize(terminal, words, options)
          super(terminal, options)
          @words = words
          @most = {}.compare_by_identity
        end

        # @return [Integer] an exit status
        def call = super { workloads }

        private

        attr_reader :words

        def workloads
          chosen = suites.flat_map { |one| chosen(one) }
          raise @left_out if chosen.empty?

          mention_options_without_effect
          mention_mechanisms_without_row(chosen)
          chosen
        end

        def suites = @suites ||= everything? ? Suites.all : [Suites.fetch(suite)]

        def everything? = suite == ALL

        # `plait lab --json waiting` means the suite, not a file of that name.
        def suite
          @suite ||= begin
            taken = words.empty? && options.values_at("json", "csv", "markdown").find { |value| WORDS.include?(value) }
            name = taken || words.first || ALL
            WORDS.include?(name) ? name : unknown(name)
          end
        end

        def path(name) = words.empty? && WORDS.include?(options[name]) ? Outputs::STANDARD_OUTPUT : super

        def unknown(name)
          ending = Suggestion.ending(name, WORDS)
          raise UsageError, "unknown suite \"#{name}\"#{ending} The suites are #{WORDS.join(", ")}."
        end

        def mention_options_without_effect
          PARTICULAR.each do |option|
            next if options[option].nil? || suites.any? { |one| one.takes?(option.to_sym) }

            terminal.note("plait: --#{option} has no effect on \"#{suite}\"")
          end
        end

        def mention_mechanisms_without_row(workloads)
          missing = mechanisms.to_a - workloads.flat_map { |workload| workload.cells.map(&:on) }
          names = missing.map { |one| Array(one).join("+") }
          terminal.note("plait: nothing here has a row on #{names.join(", ")}; it is left out") if names.any?
        end

        # A suite may lack the mechanisms asked for; of several suites it is then left out.
        def chosen(one)
          one.workloads(**sizes, on: mechanisms).each { |workload| @most[workload] = one.class::BRIEF_BUDGET if everything? }
        rescue UnsupportedError => e
          raise unless everything?

          leave_out("the suite #{one.name} can't be run here: #{e.message}", e)
        rescue UsageError => e
          raise unless everything? && mechanisms && knows_rest?(one)

          leave_out(e.message, e)
        end

        # @return [Array] of no workloads
        def leave_out(why, error)
          terminal.note("plait: #{why}; it is left out")
          @left_out = error
          []
        end

        def knows_rest?(one)
          one.workloads(**sizes)
          true
        rescue UsageError
          false
        end

        def sizes
          @sizes ||= {
            brief: everything?,
            full: options["full"],
            scale: given("scale") { |text| Arguments.positive("--scale", text) },
            requests: given("requests") { |text| Arguments.count("--requests", text) },
            latency: given("latency") { |text| text.split(",", -1).map { |one| Arguments.seconds("--latency", one) } },
            url: given("url") { |text| Arguments.text("--url", text) },
            sizes: given("sizes") { |text| Arguments.limits("--sizes", text) },
            limits: limits
          }
        end

        # A part of the time for all goes to each.
        def share(seconds) = [super, *@most[@left.first]].min

        def tables? = options["tables"] || false

        def pointers
          figures = ["plait lab", *(suite unless everything?), "--tables"].join(" ")
          ["", "  Your own code: plait advise FILE.rb", *("  All figures: #{figures}" unless tables?)]
        end

        def budget
          return BUDGET if everything?

          return if options["rounds"]

          options["full"] ? FULL_BUDGET : suites.first.budget
        end
      end
    end
  end
end
