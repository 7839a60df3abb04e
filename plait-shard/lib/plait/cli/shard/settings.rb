# frozen_string_literal: true

require_relative "../../shard"

module Plait
  module CLI
    class Shard < Command
      # The checked options of the command line and of the file.
      class Settings
        # Options that name servers.
        BACK_ENDS = %w[nodes cluster sentinels].freeze
        # Options of the command itself that the file may have.
        OWN = %i[drain reshard].freeze
        DRAIN = 10.0

        # @return [Integer, nil] servers to be started for a demonstration
        attr_reader :demo

        # @param options [Hash] by option name
        # @raise [UsageError]
        def initialize(options)
          @options = options
          @reading = Mutex.new
          @file = read_file
          @demo = Arguments.count("--demo", options["demo"]) if options["demo"]
          @demo ? check_demo : check_nodes
          check_resharding
          drain
        end

        # @return [Integer, Float] seconds for clients to be answered at the end
        # @raise [UsageError]
        def drain = @options["drain"] ? Arguments.seconds("--drain", @options["drain"]) : @file.fetch(:drain, DRAIN)

        # @return [Boolean] whether keys are moved when their places change
        def reshard? = @options["reshard"] || @file.fetch(:reshard, false)

        # @return [Boolean] whether an earlier move may have been broken off
        def resume? = @options["resume"]

        # @return [Boolean] whether there is a file to read again
        def file? = !@options["config"].nil?

        # @return [Hash{Symbol => Object}] as {#proxy}, from the file as it is now
        def read_again = @reading.synchronize { take_up(read_file) }

        # @return [Hash{Symbol => Object}] for {Plait::Shard::Proxy}; of a demonstration without nodes
        # @raise [UsageError]
        def proxy = file_without_others.merge(nodes, numbers, names, tag, given("listen", "metrics"))

        private

        # The thread that follows another proxy's reshard reads the file, too.
        def take_up(file)
          before, @file = @file, file
          check_nodes
          proxy
        rescue UsageError
          @file = before
          raise
        end

        def read_file
          return {} unless file?

          file = Plait::Shard.read(@options["config"], also: OWN)
          drain, reshard = file.values_at(*OWN)
          seconds = drain.nil? || (drain.is_a?(Numeric) && drain >= 0)
          raise UsageError, "drain: is seconds, at least 0, not #{drain.inspect}" unless seconds
          raise UsageError, "reshard: is true or false, not #{reshard.inspect}" unless [nil, true, false].include?(reshard)

          file
        end

        def check_demo
          raise UsageError, "--demo starts its own servers: leave out --nodes" if BACK_ENDS.any? { |name| named?(name) }
          raise UsageError, "--demo #{@demo}: must be 64 at most" if @demo > 64
        end

        def check_nodes
          return if BACK_ENDS.any? { |name| named?(name) }

          raise UsageError, "name the servers: --nodes HOST:PORT,HOST:PORT, or try plait shard --demo"
        end

        def check_resharding
          raise UsageError, "--resume goes with --reshard" if resume? && !reshard?
          raise UsageError, "--reshard moves keys when the file of --config has changed: name one" if reshard? && !file?
        end

        def named?(name) = @options[name] || @file.key?(name.to_sym)

        # Servers of the command line replace the file's.
        def file_without_others
          file = @file.except(*OWN)
          BACK_ENDS.any? { |name| @options[name] } ? file.except(*BACK_ENDS.map(&:to_sym)) : file
        end

        def given(*names) = names.filter_map { |name| [name.to_sym, @options[name]] if @options[name] }.to_h

        def nodes = given(*BACK_ENDS, "masters").to_h { |name, text| [name, Arguments.words("--#{name}", text)] }

        def names = given("placement", "hash", "distribution", "reads").transform_values { |text| text.tr("-", "_").to_sym }

        def tag = given("tag").to_h { |name, text| [name, Plait::Shard.value_of(name, text)] }

        def numbers
          given("threads").transform_values { |text| Arguments.count("--threads", text) }
                          .merge(given("timeout").transform_values { |text| Arguments.seconds("--timeout", text) })
        end
      end
    end
  end
end
