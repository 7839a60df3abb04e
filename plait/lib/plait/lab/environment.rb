# frozen_string_literal: true

require "etc"
require "time"

module Plait
  module Lab
    # Where and with what the figures were measured.
    # @api private
    module Environment
      GEMS = %w[io-event memory_profiler concurrent-ruby async].freeze

      class << self
        # @return [Hash{Symbol => Object}] of this machine, now
        def facts
          { plait: VERSION, ruby: RUBY_DESCRIPTION, engine: RUBY_ENGINE, ruby_version: RUBY_VERSION,
            platform: RUBY_PLATFORM, kernel: kernel, cpu: cpu, cpus: Etc.nprocessors, memory_bytes: memory, load: load,
            gems: gems, date: Time.now.utc.iso8601 }
        end

        # @param fact [Symbol] its name
        # @return [String] one fact for people
        def words(fact, value)
          return Quantity.bytes(value) if fact == :memory_bytes

          value.is_a?(Hash) ? value.map { |name, version| "#{name} #{version}" }.join(", ") : (value || Quantity::UNKNOWN).to_s
        end

        # @param facts [Hash{Symbol => Object}]
        # @return [String] one line: what a reader needs to judge the figures
        def line(facts)
          memory = facts[:memory_bytes] && "#{(facts[:memory_bytes] / 1e9).round} GB"
          ["Ruby #{facts[:ruby_version]} (#{facts[:engine]})", "#{facts[:cpus]} CPUs", memory, facts[:kernel]].compact.join(", ")
        end

        private

        def kernel
          names = Etc.uname
          "#{names[:sysname]} #{names[:release]}"
        end

        def cpu = readable("/proc/cpuinfo")&.[](/^model name\s*:\s*(.+)$/, 1)

        def memory
          kilobytes = readable("/proc/meminfo")&.[](/^MemTotal:\s*(\d+) kB$/, 1)
          kilobytes && (kilobytes.to_i * 1024)
        end

        def load = readable("/proc/loadavg")&.to_f

        # Ruby may have been started with --disable=gems.
        def gems
          loaded = defined?(Gem) ? Gem.loaded_specs.slice(*GEMS) : {}
          loaded.transform_values { |spec| spec.version.to_s }
        end

        def readable(path)
          File.read(path)
        rescue SystemCallError
          nil
        end
      end
    end
  end
end
