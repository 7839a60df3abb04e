# frozen_string_literal: true

require_relative "../../values/errors"
require_relative "../arguments"
require_relative "../command"

module Plait
  module CLI
    class Shard < Command
      # What the options say, checked.
      class Settings
        # @return [Integer, nil] servers to be started for a demonstration
        attr_reader :demo

        # @param options [Hash] by option name
        # @raise [UsageError]
        def initialize(options)
          @options = options
          @demo = Arguments.count("--demo", options["demo"]) if options["demo"]
          raise UsageError, "--demo starts its own servers: leave out --nodes" if @demo && options["nodes"]
          raise UsageError, "--demo #{@demo}: must be 64 at most" if @demo && @demo > 64
          return if @demo || options["nodes"]

          raise UsageError, "say which servers: --nodes HOST:PORT,HOST:PORT, or try plait shard --demo"
        end

        # @return [Array<String>]
        # @raise [UsageError]
        def nodes = Arguments.words("--nodes", @options["nodes"])

        # @return [Hash{Symbol => Object}] for {Plait::Shard::Proxy}, but for the nodes
        # @raise [UsageError]
        def proxy
          { listen: @options["listen"], threads: Arguments.count("--threads", @options["threads"]),
            placement: @options["placement"].tr("-", "_").to_sym, timeout: Arguments.seconds("--timeout", @options["timeout"]),
            **names, **tag }
        end

        private

        def names = %w[hash distribution].filter_map { |name| [name.to_sym, @options[name].to_sym] if @options[name] }.to_h

        def tag = @options["tag"] ? { tag: @options["tag"] } : {}
      end
    end
  end
end
