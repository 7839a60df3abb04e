# frozen_string_literal: true

require_relative "../arguments"
require_relative "../command"
require_relative "../../server/config_file"
require_relative "../../server/configuration"
require_relative "../../server/master"
require_relative "../../values/errors"
require_relative "../../version"

module Plait
  module CLI
    class Serve < Command
      # A server from its first word to its last.
      class Service
        # An option of the command line => what it is for a {Server::Configuration}, and how its text is read.
        NUMBERS = { "limit" => :limit, "queue" => :queue }.freeze
        SECONDS = { "drain" => :drain, "grace" => :grace }.freeze
        TEXTS = { "pidfile" => :pidfile, "state" => :state, "access-log" => :access_log, "metrics" => :metrics,
                  "directory" => :directory, "environment" => :environment }.freeze

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
          path = @file && File.expand_path(@file) # the server may go to another folder
          master = Server::Master.new(@configuration, notice: notice, reread: -> { configuration(path) })
          master.run { |endpoints| tell(endpoints, master.count) }
          @terminal.note("stopped")
        end

        # @return [Server::Configuration]
        # @raise [UsageError]
        def configuration(path = @file)
          file = path ? Server::ConfigFile.read(path, notice: notice) : {}
          given = { rackup: @path, binds: binds, on: @options["on"]&.to_sym, workers: workers, **numbers, **texts,
                    log_format: @options["log-format"]&.to_sym, blocking: blocking }
          Server::Configuration.of(file, given)
        end

        private

        def notice = ->(line) { @terminal.note("plait: #{line}") }

        def binds = @options["bind"] && Arguments.words("--bind", @options["bind"])

        # 0: none.
        def workers
          text = @options["workers"] or return
          return "auto" if text == "auto"

          Arguments.integer("--workers", text).then { |number| number.negative? ? refuse("workers", text) : number }
        end

        def numbers
          NUMBERS.to_h { |name, key| [key, number(name)] }.merge(SECONDS.to_h { |name, key| [key, number(name)] })
        end

        def texts = TEXTS.to_h { |name, key| [key, @options[name]&.then { |text| Arguments.text("--#{name}", text) }] }

        def blocking = @options["blocking"] && Arguments.positive("--blocking", @options["blocking"])

        def number(name)
          text = @options[name] or return
          return Integer(text, 10) if text.match?(/\A[1-9]\d*\z/)

          refuse(name, text)
        end

        def refuse(name, text)
          raise UsageError, "--#{name} is a number above 0, not #{text.inspect}"
        end

        def tell(endpoints, count)
          places = endpoints.map { |endpoint| endpoint.to_s.sub(/\Atcp:/, "http:") }
          crew = count.zero? ? "" : " in #{count} worker#{"s" if count > 1}"
          @terminal.note("plait #{VERSION} serves #{@configuration.rackup} on #{@configuration.on}#{crew} " \
                         "at #{places.join(", ")}")
        end
      end
    end
  end
end
