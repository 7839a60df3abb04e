# frozen_string_literal: true

require_relative "../../server/config_file"
require_relative "../../server/configuration"
require_relative "../../server/generation"
require_relative "../../server/handover"
require_relative "../../server/master"
require "plait/io/workers/plan"

module Plait
  module CLI
    class Serve < Command
      # A server from its first word to its last.
      class Service
        # An option of the command line => its word of a config/plait.rb, or a setter of {Server::ConfigFile}.
        WORDS = { "limit" => :limit, "queue" => :queue, "workers" => :workers, "drain" => :drain, "grace" => :grace,
                  "blocking" => :blocking, "metrics" => :metrics, "pidfile" => :pidfile, "state" => :state_path,
                  "access-log" => :log_to, "log-format" => :log_format, "directory" => :directory,
                  "environment" => :environment }.freeze

        # @param path [String, nil] of a config.ru
        def initialize(path, options, terminal)
          @path = path
          @options = options
          @terminal = terminal
          @file = options["config"] || (Server::ConfigFile::PATH if File.exist?(Server::ConfigFile::PATH))
        end

        # @raise [UsageError, ListenError, UnsupportedError, WorkerDied]
        def run
          @configuration = configuration
          order = Server::Handover.received
          return Server::Generation.succeed(@configuration, order, notice) if order

          master = Server::Master.new(@configuration, notice: notice)
          master.run { |endpoints| tell(endpoints, master.count) }
          @terminal.note(["stopped", *(Io::Workers::Plan.cut(master.cut) if master.cut.positive?)].join("; "))
        end

        # @param notice [#call] takes a sentence about each setting without effect
        # @raise [UsageError]
        def configuration(notice: self.notice) = Server::Configuration.of(Server::ConfigFile.read(@file, orders, notice: notice))

        private

        # @return [#call] for what people should know
        def notice = ->(line) { @terminal.note("plait: #{line}") }

        # Later ones replace earlier ones: threads may imply a mechanism and a limit, where no other option names them.
        def orders
          app = [@path, :rackup, @path] if @path
          [app, order("on", :on), threads, *WORDS.map { |name, word| order(name, word) }, *places].compact
        end

        # @return [Array(String, Symbol, String), nil] see {Server::ConfigFile.read}; nil where the option is not given
        def order(name, word) = @options[name] && [origin(name), word, @options[name].to_s.strip]

        def origin(name) = "--#{name} #{@options[name]}"

        # The most threads: they start when requests need them.
        def threads
          text = @options["threads"] or return
          raise UsageError, "#{origin("threads")}: MIN:MAX, such as 5:5" unless text.match?(/\A\d+(:\d+)?\z/)

          [origin("threads"), :threads, *text.split(":")]
        end

        # They replace the settings of the file.
        def places
          named = @options["bind"].to_s.split(",").map(&:strip).reject(&:empty?)
          raise UsageError, "--bind needs a value" if @options["bind"] && named.empty?

          port = order("port", :port)&.push("0.0.0.0")
          places = [*named.map { |place| ["--bind #{place}", :bind, place] }, port].compact
          [[nil, :clear_binds!], *places] if places.any?
        end

        def tell(endpoints, count)
          places = endpoints.map { |endpoint| endpoint.to_s.sub(/\Atcp:/, "http:").sub(/\Atls:/, "https:") }
          workers = count.zero? ? "" : " in #{count} worker#{"s" if count > 1}"
          @terminal.note("plait #{VERSION} serves #{@configuration.rackup} on #{@configuration.on}#{workers} " \
                         "at #{places.join(", ")}")
        end
      end
    end
  end
end
