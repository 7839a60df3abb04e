# frozen_string_literal: true

require "etc"
require "rbconfig"
require "time"

module Bench
  module Harness
    # The machine, the versions and the command a report belongs to.
    class Environment
      # @param gem_paths [GemPaths]
      # @param gems [Array<String>] whose versions are told
      # @param run [Hash{String => Object}] what is known of this run: its command, seed, rounds
      def initialize(gem_paths, gems:, run: {})
        @gem_paths = gem_paths
        @gems = gems
        @run = run
      end

      # @return [Hash{String => Object}]
      def to_h
        { "ruby" => RUBY_DESCRIPTION, "gems" => versions, "compiler" => compiler, "kernel" => kernel, "cpu" => cpu,
          "cpus" => Etc.nprocessors, "memory_mb" => memory, "load_average" => load,
          "date" => Time.now.utc.iso8601, **@run }
      end

      private

      def versions = @gems.to_h { |name| [name, @gem_paths.version(name)] }

      def compiler = `#{ENV.fetch("CC", "cc")} --version`.lines.first&.strip

      def kernel = Etc.uname.values_at(:sysname, :release, :machine).join(" ")

      def cpu = first_match("/proc/cpuinfo", /^model name\s*:\s*(.+)$/)

      def memory = first_match("/proc/meminfo", /^MemTotal:\s*(\d+)/)&.to_i&.div(1024)

      def load = first_match("/proc/loadavg", /^(\S+ \S+ \S+)/)

      def first_match(file, pattern)
        File.read(file)[pattern, 1]
      rescue SystemCallError
        nil
      end
    end
  end
end
