# frozen_string_literal: true

require "plait/cli/arguments"
require "plait/cli/command"
require "plait/values/errors"
require_relative "../../commands/serve"
require_relative "adviser"
require_relative "app_advice"
require_relative "requests"

module Plait
  module CLI
    class Serve < Command
      # `plait advise config.ru`: from options to an answer about an app.
      class Consultation
        # Requests at once: what a few dozen users make of an app.
        CONCURRENCY = 16
        private_constant :CONCURRENCY

        # @param options [Hash] of plait advise
        def initialize(terminal, options)
          @terminal = terminal
          @options = options
        end

        # @param path [String] of a config.ru
        # @param budget [Float] seconds
        # @param among [Array<Symbol>, nil] mechanisms
        # @return [AppAdvice]
        # @raise [UsageError]
        def call(path, budget:, among:)
          raise UsageError, "there is no file #{path}: name the config.ru of the app, or go to its folder" unless File.file?(path)

          requests = Requests.read(paths: @options["paths"], log: @options["log"])
          wanted = { budget: budget, among: known(among), **settings }
          @terminal.note(announcement(requests, budget))
          adviser = Adviser.new(path, requests, note: ->(what) { @terminal.note("  #{what}") }, **wanted)
          AppAdvice.new(adviser.call, path)
        end

        private

        def settings
          { concurrency: number("--concurrency", :count) || CONCURRENCY, rate: number("--rate", :positive),
            environment: @options["environment"], headers: headers }
        end

        def number(name, kind) = @options[name.delete_prefix("--")]&.then { |text| Arguments.public_send(kind, name, text) }

        def known(among)
          other = (among || []).find { |on| !Adviser::MECHANISMS.include?(on) } or return among

          raise UsageError, "--on #{Array(other).join("+")}: a server runs on threads, fibers or hybrid; workers are processes"
        end

        def headers
          text = @options["header"] or return {}
          name, value = text.split(":", 2)
          raise UsageError, "--header #{text}: must be as in 'Cookie: a=b'" if value.nil? || !name.match?(/\A[\w-]+\z/)

          { name => value.strip }
        end

        def announcement(requests, budget)
          environment = @options["environment"] || ENV["RAILS_ENV"] || ENV["RACK_ENV"] || "development"
          advice = " (--environment production is what counts)" if environment == "development"
          "#{requests.uniq.size} different request#{"s" if requests.uniq.size > 1} for up to #{budget.round} s, each hundreds " \
            "of times; the app runs as #{environment}#{advice}"
        end
      end
    end
  end
end
