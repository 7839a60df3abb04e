# frozen_string_literal: true

require_relative "../../shard"
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

        # @return [Integer, Float] seconds for clients to be answered at the end
        attr_reader :drain

        # @param options [Hash] by option name
        # @raise [UsageError]
        def initialize(options)
          @options = options
          @file = read_file
          @drain = Arguments.seconds("--drain", options["drain"])
          @demo = Arguments.count("--demo", options["demo"]) if options["demo"]
          @demo ? check_demo : check_nodes
        end

        # @return [Boolean] whether keys are moved when their places change
        def reshard? = @options["reshard"]

        # @return [Boolean] whether an earlier move may have been broken off
        def resume? = @options["resume"]

        # @return [Boolean] whether there is something to be read again
        def file? = !@options["config"].nil?

        # @return [Hash{Symbol => Object}] as {#proxy}, from the file as it is now
        # @raise [UsageError]
        def read_again
          before = @file
          @file = read_file
          check_nodes
          proxy
        rescue UsageError
          @file = before
          raise
        end

        # @return [Hash{Symbol => Object}] for {Plait::Shard::Proxy}; of a demonstration without nodes
        # @raise [UsageError]
        def proxy = @file.merge(nodes, numbers, names, given("listen", "tag", "metrics"))

        private

        def read_file = file? ? Plait::Shard::Configuration.read(@options["config"]) : {}

        def check_demo
          raise UsageError, "--demo starts its own servers: leave out --nodes" if @options["nodes"] || @file.key?(:nodes)
          raise UsageError, "--demo #{@demo}: must be 64 at most" if @demo > 64
        end

        def check_nodes
          return if @options["nodes"] || @file.key?(:nodes)

          raise UsageError, "say which servers: --nodes HOST:PORT,HOST:PORT, or try plait shard --demo"
        end

        def given(*names) = names.filter_map { |name| [name.to_sym, @options[name]] if @options[name] }.to_h

        def nodes = given("nodes").transform_values { |text| Arguments.words("--nodes", text) }

        def names = given("placement", "hash", "distribution").transform_values { |text| text.tr("-", "_").to_sym }

        def numbers
          given("threads").transform_values { |text| Arguments.count("--threads", text) }
                          .merge(given("timeout").transform_values { |text| Arguments.seconds("--timeout", text) })
        end
      end
    end
  end
end
