# frozen_string_literal: true

require "plait/cli/arguments"
require "plait/cli/command"
require_relative "../../server/access_log"
require_relative "../../server/app_process"
require_relative "../../server/config_file"
require_relative "../../server/configuration"
require_relative "../../server/master"
require_relative "../../server/options"
require_relative "../../server/place"
require_relative "../../server/workers/plan"
require "plait/values/errors"
require "plait/version"

module Plait
  module CLI
    class Serve < Command
      # A server from its first word to its last.
      class Service
        # An option of the command line => what it is for a {Server::Configuration}, and how its text is read.
        COUNTS = { "limit" => :limit, "queue" => :queue }.freeze
        SECONDS = { "drain" => :drain, "grace" => :grace }.freeze
        TEXTS = { "pidfile" => :pidfile, "state" => :state, "access-log" => :access_log, "directory" => :directory,
                  "environment" => :environment }.freeze

        # @param path [String, nil] of a config.ru
        # @param options [Hash{String => String}]
        # @param terminal [Terminal]
        def initialize(path, options, terminal)
          @path = path
          @options = options
          @terminal = terminal
          @file = options["config"] || (Server::ConfigFile::PATH if File.exist?(Server::ConfigFile::PATH))
        end

        # @return [void]
        # @raise [UsageError, ListenError, UnsupportedError, WorkerDied]
        def run
          @configuration = configuration
          order = Server::Handover.received
          return Server::AppProcess.succeed(@configuration, order, notice) if order

          master = Server::Master.new(@configuration, notice: notice)
          master.run { |endpoints| tell(endpoints, master.count) }
          @terminal.note(["stopped", *(Server::Workers::Plan.cut(master.cut) if master.cut.positive?)].join("; "))
        end

        # @param path [String, nil] of the file with the configuration
        # @param notice [#call] is told what in it has no meaning
        # @return [Server::Configuration]
        # @raise [UsageError]
        def configuration(path = @file, notice: self.notice)
          file = path ? Server::ConfigFile.read(path, notice: notice) : {}
          given = { rackup: @path, binds: binds, on: mechanism || (:threads if threads && !file.key?(:on)), limit: threads,
                    workers: workers, **numbers.compact, **texts, log_format: log_format, metrics: metrics, blocking: blocking }
          Server::Configuration.of(file, given)
        end

        # @return [#call] for what people should know
        def notice = ->(line) { @terminal.note("plait: #{line}") }

        private

        def binds
          places = [*places_to_bind, *port]
          places unless places.empty?
        end

        def places_to_bind
          given("bind") do |option, text|
            Arguments.words(option, text).each { |word| named(option) { Server::Place.new(word) } }
          end
        end

        def port
          given("port") do |option, text|
            "tcp://0.0.0.0:#{Arguments.integer(option, text)}".tap { |word| named(option) { Server::Place.new(word) } }
          end
        end

        # How many at most; they are begun when they are needed.
        def threads
          given("threads") do |option, text|
            raise UsageError, "#{option} #{text}: MIN:MAX, such as 5:5" unless text.match?(/\A\d+(:\d+)?\z/)

            Arguments.count(option, text.split(":").last)
          end
        end

        def mechanism
          given("on") do |option, text|
            name = Arguments.text(option, text).to_sym
            next name if Server::Options::LIMITS.key?(name)

            raise UsageError, "#{option} is threads, fibers or hybrid, not #{text.inspect}; for processes there is --workers N"
          end
        end

        # 0: none.
        def workers
          given("workers") do |option, text|
            next text if text == "auto"

            number = Arguments.integer(option, text)
            number.negative? ? raise(UsageError, "#{option} #{text}: a number from 0 on, or auto") : number
          end
        end

        def numbers
          counts = COUNTS.to_h { |name, key| [key, given(name) { |option, text| Arguments.count(option, text) }] }
          counts.merge(SECONDS.to_h { |name, key| [key, given(name) { |option, text| Arguments.seconds(option, text) }] })
        end

        def texts = TEXTS.to_h { |name, key| [key, given(name) { |option, text| Arguments.text(option, text) }] }

        def metrics
          given("metrics") { |option, text| Arguments.text(option, text).tap { |word| named(option) { Server::Place.new(word) } } }
        end

        def log_format
          given("log-format") { |option, text| named(option) { Server::AccessLog.format(text.to_sym) && text.to_sym } }
        end

        def blocking = given("blocking") { |option, text| Arguments.positive(option, text) }

        # @yieldparam option [String] as typed
        # @yieldparam text [String] that was given with it
        # @return [Object, nil] what the block makes of it; nil where it was not given
        def given(name) = @options[name] && yield("--#{name}", @options[name])

        # What is wrong is said with the option.
        def named(option)
          yield
        rescue UsageError => e
          raise UsageError, "#{option}: #{e.message}"
        end

        def tell(endpoints, count)
          places = endpoints.map { |endpoint| endpoint.to_s.sub(/\Atcp:/, "http:").sub(/\Atls:/, "https:") }
          crew = count.zero? ? "" : " in #{count} worker#{"s" if count > 1}"
          @terminal.note("plait #{VERSION} serves #{@configuration.rackup} on #{@configuration.on}#{crew} " \
                         "at #{places.join(", ")}")
        end
      end
    end
  end
end
