# frozen_string_literal: true

require "etc"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # The limits of the container this process is in (Linux control groups, versions 1 and 2). A limit set on any
      # group above holds as well, so the smallest one counts.
      class Cgroup
        # Version 1 writes "no limit" as the largest number of pages.
        NO_LIMIT = 1 << 60

        # @param root [String] of the file system
        def initialize(root: "/")
          @root = root
        end

        # @return [Float, nil] processors' worth of time; nil without a quota
        def processors
          [*settings("", "cpu.max").map { |text| quota(*text.split) },
           *settings("cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us").map { |text| quota(*text.split) }].compact.min
        end

        # @return [Integer, nil] bytes
        def memory = smallest(settings("", "memory.max") + settings("memory", "memory.limit_in_bytes"))

        # @return [Integer, nil] processes and threads
        def processes = smallest(settings("", "pids.max") + settings("pids", "pids.max"))

        private

        def quota(time, period)
          return unless /\A\d+\z/.match?(time) && period.to_i.positive?

          (time.to_f / period.to_i).round(2)
        end

        def smallest(texts) = texts.map(&:strip).grep(/\A\d+\z/).map(&:to_i).reject { |number| number >= NO_LIMIT }.min

        # @return [Array<String>] the files' contents, joined, for this process's group and each one above it
        def settings(controller, *files)
          folders(controller).filter_map do |folder|
            paths = files.map { |file| File.join(folder, file) }
            paths.map { |path| File.read(path) }.join(" ") if paths.all? { |path| File.readable?(path) }
          rescue SystemCallError
            nil
          end
        end

        def folders(controller)
          base = File.join(@root, "sys/fs/cgroup", controller)
          parts = group(controller).to_s.split("/").reject(&:empty?)
          (0..parts.size).map { |depth| File.join(base, *parts.first(depth)) }
        end

        # Lines are `0::/path` in version 2 and `4:cpu,cpuacct:/path` in version 1.
        def group(controller)
          lines = File.readlines(File.join(@root, "proc/self/cgroup"), chomp: true)
          lines.filter_map { |line| path_for(controller, line) }.first
        rescue SystemCallError
          nil
        end

        def path_for(controller, line)
          _, controllers, path = line.split(":", 3)
          path if controllers == controller || controllers.to_s.split(",").include?(controller)
        end
      end

      # Processors and memory that this process may really use.
      class Machine < Examiner
        GROUP = "machine"
        # Above this share of the processors, other programs take part in every measurement.
        BUSY = 0.5

        def checks = [processors, load_average, memory]

        private

        def processors
          allowed = Etc.nprocessors
          quota = cgroup.processors
          return ok("processors", allowed, of_all(allowed)) unless quota && quota < allowed

          limited("processors", quota, "#{Quantity.plain(quota)} by the container's quota, of #{of_all(allowed)}",
                  "give the container more: docker run --cpus #{allowed}")
        end

        def cgroup = @cgroup ||= Cgroup.new(root: @root)

        def of_all(allowed)
          all = Dir.glob(path("sys/devices/system/cpu/cpu[0-9]*")).size
          all > allowed ? "#{allowed} of #{all} (this process's affinity)" : allowed.to_s
        end

        def load_average
          load = read("proc/loadavg")&.to_f or return unknown("load")
          text = "#{load} in the last minute"
          return ok("load", load, text) if load < Etc.nprocessors * BUSY

          limited("load", load, "#{text}: other programs run, so measurements will scatter", "see which: top -o %CPU")
        end

        def memory
          total = meminfo("MemTotal") or return unknown("memory")
          free = meminfo("MemAvailable")
          text = "#{Quantity.memory(total)}#{", #{Quantity.memory(free)} available" if free}"
          limit = cgroup.memory
          return ok("memory", total, text) unless limit && limit < total

          limited("memory", limit, "#{Quantity.memory(limit)} for this container, of #{text}",
                  "give the container more: docker run --memory 4g")
        end
      end
    end
  end
end
