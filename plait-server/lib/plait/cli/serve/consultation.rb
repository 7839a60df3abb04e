# frozen_string_literal: true

require "json"
require_relative "../../commands/serve"
require_relative "adviser"
require_relative "app_advice"

module Plait
  module CLI
    class Serve < Command
      # The requests that an app is measured with: of a file of paths, or of an access log. Only GET and HEAD, which change
      # nothing in a well-behaved app.
      module Requests
        # A line of a log: common, combined and most others.
        QUOTED = %r{"(?<method>[A-Z]+) (?<target>/[^ "]*)(?: HTTP/[\d.]+)?"}
        # A line of a file of paths.
        PATH = %r{\A(?:(?<method>[A-Z]+) +)?(?<target>/\S*)\z}
        METHODS = %w[GET HEAD].freeze
        # Requests that are taken from a log: its newest ones.
        MOST = 10_000
        DEFAULT = [%w[GET /]].freeze

        class << self
          # @param paths [String, nil] a file with a path a line, as in "/users" or "HEAD /users"
          # @param log [String, nil] an access log
          # @return [Array<Array(String, String)>] method and target of each request, in their order
          def read(paths: nil, log: nil)
            raise UsageError, "--paths and --log both say what to request: name one of them" if paths && log
            return of_paths(paths) if paths

            log ? of_log(log) : DEFAULT
          end

          private

          def of_paths(path)
            found = lines("--paths", path).each.with_index(1).filter_map do |line, number|
              next if line.empty? || line.start_with?("#")

              parsed(PATH.match(line)) or
                raise UsageError, "--paths #{path}:#{number}: a line is as /users?page=2 or HEAD /users, not " \
                                  "#{line[0, 80].inspect}"
            end
            found.any? ? found : raise(UsageError, "--paths #{path} has no path in it")
          end

          def of_log(path)
            found = lines("--log", path).filter_map { |line| line.start_with?("{") ? of_json(line) : parsed(QUOTED.match(line)) }
            return found.last(MOST) if found.any?

            raise UsageError, "--log #{path} has no GET or HEAD in it that Plait can read: it takes lines with " \
                              "\"GET /path HTTP/1.1\", and JSON with method and path"
          end

          def of_json(line)
            fields = JSON.parse(line)
            target = [fields["path"], fields["query"]].compact.reject(&:empty?).join("?")
            parsed(PATH.match("#{fields["method"]} #{target}"))
          rescue JSON::ParserError, NoMethodError
            nil
          end

          def parsed(match) = match && METHODS.include?(match[:method] || "GET") ? [match[:method] || "GET", match[:target]] : nil

          def lines(option, path)
            File.readlines(path, chomp: true).map { |line| line.scrub.strip }
          rescue SystemCallError => e
            raise UsageError, "#{option} #{path} can't be read: #{SystemReason.of(e)}"
          end
        end
      end
      private_constant :Requests

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
