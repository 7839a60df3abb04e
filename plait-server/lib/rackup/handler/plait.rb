# frozen_string_literal: true

require "plait"
require_relative "../../plait/server"
require_relative "../../plait/server/config_file"
require_relative "../../plait/server/configuration"
require_relative "../../plait/server/generation"
require_relative "../../plait/server/place"

module Rackup
  module Handler
    # `rackup -s plait`, with `-O on=threads`, `-O limit=32` and more, see {valid_options}. Ctrl-C and SIGTERM end it after
    # running requests are answered; a second one ends it at once.
    module Plait
      # Options that are words of a config/plait.rb.
      WORDS = %i[on limit queue workers drain early_hints].freeze
      # As text.
      ANSWERS = { "true" => true, "false" => false }.freeze
      # Seconds that running requests have at the end, by default.
      DRAIN = ::Plait::Server::DRAIN
      # The exit status, as of `plait serve`: sysexits.h's EX_UNAVAILABLE, where it is not the caller's mistake.
      MISUSED = 2
      UNAVAILABLE = 69
      PORT = "9292"
      # Which rackup passes on where its user says nothing.
      HOSTS = %w[localhost 0.0.0.0 127.0.0.1].freeze
      NOTICE = ->(line) { warn("plait: #{line}") }
      # Of a config/plait.rb: the app, its folder and its environment are rackup's here, and there is no master.
      UNHEEDED = %i[rackup directory environment preload reuse_port pidfile state access_log metrics stdout stderr].freeze
      # What Rackup::Server passes on: a command has started this then, not a program.
      COMMAND = %i[config environment].freeze

      class << self
        # Serves until a signal ends it. In the command rackup what is wrong is one sentence, and an exit status.
        # @param options [Hash] :Host, :Port, and {valid_options}; config/plait.rb may name others
        # @yieldparam server [::Plait::Server] before it begins
        # @raise [::Plait::UsageError, ::Plait::ListenError]
        # @raise [SystemExit] instead, in the command rackup
        def run(app, **options, &block)
          serve(app, options, &block)
        rescue ::Plait::Error => e
          raise unless COMMAND.all? { |name| options.key?(name) }

          give_up(e)
        end

        # Ends it; the second time at once. For Rackup, at Ctrl-C.
        def shutdown
          @server&.stop(within: @ended ? 0 : @drain)
          @ended = true
        end

        # @return [Hash{String => String}] for `rackup --help`
        def valid_options
          { "on=MECHANISM" => "threads, fibers or hybrid (default: hybrid)", "limit=N" => "requests that run at once",
            "queue=N" => "requests that wait for that; further ones are answered 503",
            "workers=N" => "processes that serve (default: this one does)",
            "drain=SECONDS" => "that running requests have at the end (default: #{DRAIN})",
            "early_hints=true" => "offer apps rack.early_hints" }
        end

        private

        def serve(app, options)
          @ended = false
          configuration = configuration(options)
          @drain = configuration.drain
          ::Plait::Server::Isolation.settle(configuration.on, &NOTICE)
          @server = server(app, configuration)
          listeners(options, configuration).each { |listener| @server.listen(listener) }
          yield @server if block_given?
          ending_by_sigterm { @server.run }
        end

        # What is in config/plait.rb, as far as it is not for `plait serve` alone; options count more.
        def configuration(options)
          path = ::Plait::Server::ConfigFile::PATH
          settings = ::Plait::Server::ConfigFile.read((path if File.exist?(path)), orders(options), notice: NOTICE)
          idle = UNHEEDED.select { |name| settings.key?(name) }
          NOTICE.call("#{path}: only plait serve heeds #{idle.join(", ")}") if idle.any?
          ::Plait::Server::Configuration.of(settings)
        end

        def orders(options)
          WORDS.filter_map do |name|
            value = options[name]
            ["-O #{name}=#{value}", name, ANSWERS.fetch(value, value)] unless value.to_s.empty?
          end
        end

        def server(app, configuration)
          workers = configuration.worker_count if configuration.workers
          ::Plait::Server.new(app, **configuration.options, workers: workers&.nonzero?, plan: configuration.plan(NOTICE))
        end

        def give_up(error)
          warn("plait: #{ENV["PLAIT_DEBUG"] == "1" ? error.full_message(highlight: false) : error.message.strip}")
          exit(error.is_a?(::Plait::UsageError) ? MISUSED : UNAVAILABLE)
        end

        def listeners(options, configuration)
          places = configuration.binds unless asked_for_place?(options)
          places = [place(options)] if places.to_a.empty?
          places.each_with_object([]) do |text, opened|
            opened << ::Plait::Server::Place.new(text).open(backlog: ::Plait::Server::BACKLOG)
          rescue StandardError
            opened.each(&:close)
            raise
          end
        end

        # Rails tells what its user has said; with rackup it is what differs from its defaults.
        def asked_for_place?(options)
          said = options[:user_supplied_options]
          return said.intersect?(%i[Host Port]) if said

          (options[:Port] || PORT).to_s != PORT || ![nil, *HOSTS].include?(options[:Host])
        end

        def place(options)
          host = options[:Host] || "127.0.0.1"
          host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
          "tcp://#{host}:#{options[:Port] || PORT}"
        end

        # Where there is no other way to end it.
        def ending_by_sigterm
          before = trap(:TERM) { shutdown }
          trap(:TERM, before) if before.respond_to?(:call)
          yield
        ensure
          trap(:TERM, before)
        end
      end
    end

    register(:plait, Plait) if respond_to?(:register)
  end
end
