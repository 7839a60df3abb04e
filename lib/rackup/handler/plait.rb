# frozen_string_literal: true

require_relative "../../plait"
require_relative "../../plait/server"

module Rackup
  module Handler
    # `rackup -s plait`, with `-O on=threads`, `-O limit=32` and `-O queue=100`.
    module Plait
      NUMBERS = %i[limit queue].freeze

      class << self
        # Serves until a signal ends it.
        # @param app [#call]
        # @param options [Hash] :Host, :Port, and those of {valid_options}
        # @yieldparam server [::Plait::Server] before it begins
        # @return [void]
        def run(app, **options)
          bind = "tcp://#{options[:Host] || "127.0.0.1"}:#{options[:Port] || 9292}"
          server = ::Plait::Server.new(app, bind: bind, **settings(options))
          yield server if block_given?
          server.run
        end

        # @return [Hash{String => String}] for `rackup --help`
        def valid_options
          { "on=MECHANISM" => "threads, fibers or hybrid (default: hybrid)", "limit=N" => "requests that run at once",
            "queue=N" => "requests that wait for that; further ones are answered 503" }
        end

        private

        def settings(options)
          numbers = options.slice(*NUMBERS).transform_values { |text| Integer(text) }
          { on: (options[:on] || :hybrid).to_sym, **numbers }
        end
      end
    end

    register(:plait, Plait) if respond_to?(:register)
  end
end
