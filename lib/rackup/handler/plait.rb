# frozen_string_literal: true

require_relative "../../plait"
require_relative "../../plait/server"
require_relative "../../plait/server/isolation"
require_relative "../../plait/values/errors"

module Rackup
  module Handler
    # `rackup -s plait`, with `-O on=threads`, `-O limit=32` and more, see {valid_options}. Ctrl-C and SIGTERM end it: what was
    # begun is answered; a second one ends it at once.
    module Plait
      # Options that are numbers.
      COUNTS = %i[limit queue workers].freeze
      # Seconds, at the end, for what was begun.
      DRAIN = ::Plait::Server::DRAIN
      # What the shell is told, as by `plait serve`: sysexits.h's EX_UNAVAILABLE, where it is not the caller's mistake.
      MISUSED = 2
      UNAVAILABLE = 69
      # What Rackup::Server passes on: then it is a command that has begun this, and not a program.
      COMMAND = %i[config environment].freeze

      class << self
        # Serves until a signal ends it. In the command rackup what is wrong is one sentence, and an exit status.
        # @param app [#call]
        # @param options [Hash] :Host, :Port, and those of {valid_options}
        # @yieldparam server [::Plait::Server] before it begins
        # @return [void]
        # @raise [::Plait::UsageError, ::Plait::ListenError]
        # @raise [SystemExit] instead, in the command rackup
        def run(app, **options, &block)
          serve(app, options, &block)
        rescue ::Plait::Error => e
          raise unless COMMAND.all? { |name| options.key?(name) }

          give_up(e)
        end

        # Ends it; the second time at once. For Rackup, at Ctrl-C.
        # @return [void]
        def shutdown
          @server&.stop(within: @ended ? 0 : @drain)
          @ended = true
        end

        # @return [Hash{String => String}] for `rackup --help`
        def valid_options
          { "on=MECHANISM" => "threads, fibers or hybrid (default: hybrid)", "limit=N" => "requests that run at once",
            "queue=N" => "requests that wait for that; further ones are answered 503",
            "workers=N" => "processes that serve (default: this one does)",
            "drain=SECONDS" => "at the end, for what was begun (default: #{DRAIN})",
            "early_hints=true" => "offer apps rack.early_hints" }
        end

        private

        def serve(app, options)
          @ended = false
          @drain = options.key?(:drain) ? seconds(options[:drain]) : DRAIN
          settings = settings(options)
          ::Plait::Server::Isolation.settle(settings.fetch(:on, :hybrid)) { |line| warn("plait: #{line}") }
          @server = ::Plait::Server.new(app, bind: place(options), **settings)
          yield @server if block_given?
          ending_by_sigterm { @server.run }
        end

        def give_up(error)
          warn("plait: #{ENV["PLAIT_DEBUG"] == "1" ? error.full_message(highlight: false) : error.message.strip}")
          exit(error.is_a?(::Plait::UsageError) ? MISUSED : UNAVAILABLE)
        end

        def place(options)
          host = options[:Host] || "127.0.0.1"
          host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
          "tcp://#{host}:#{options[:Port] || 9292}"
        end

        def settings(options)
          counts = options.slice(*COUNTS).to_h { |name, text| [name, count(name, text)] }
          counts.delete(:workers) if counts[:workers]&.zero?
          plan = { drain: @drain }
          { on: (options[:on] || :hybrid).to_sym, early_hints: answer(options[:early_hints]), plan: plan, **counts }
        end

        def count(name, text)
          Integer(text, exception: false) or raise ::Plait::UsageError, "-O #{name}=#{text}: #{name} is a whole number"
        end

        def seconds(text)
          number = Float(text, exception: false)
          number && number >= 0 ? number : raise(::Plait::UsageError, "-O drain=#{text}: drain is seconds")
        end

        def answer(text)
          case text.to_s
          when "true" then true
          when "", "false" then false
          else raise ::Plait::UsageError, "-O early_hints=#{text}: early_hints is true or false"
          end
        end

        # Where nobody has another way to end it.
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
