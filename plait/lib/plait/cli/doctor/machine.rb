# frozen_string_literal: true

require "etc"
require_relative "../command"
require_relative "cgroup"
require_relative "examiner"
require_relative "../../values/quantity"

module Plait
  module CLI
    class Doctor < Command
      # Processors and memory that this process may really use.
      class Machine < Examiner
        GROUP = "machine"
        # Above this share of the processors, other programs take part in every measurement.
        BUSY = 0.5

        def initialize(root: "/")
          super
          @cgroup = Cgroup.new(root: root)
        end

        def checks = [processors, load_average, memory]

        private

        def processors
          allowed = Etc.nprocessors
          quota = @cgroup.processors
          return ok("processors", allowed, of_all(allowed)) unless quota && quota < allowed

          limited("processors", quota, "#{Quantity.plain(quota)} by the container's quota, of #{of_all(allowed)}",
                  "give the container more: docker run --cpus #{allowed}")
        end

        def of_all(allowed)
          all = Dir.glob(path("sys/devices/system/cpu/cpu[0-9]*")).size
          all > allowed ? "#{allowed} of #{all} (this process's affinity)" : allowed.to_s
        end

        def load_average
          load = read("proc/loadavg")&.to_f
          return unknown("load") unless load

          text = "#{load} in the last minute"
          return ok("load", load, text) if load < Etc.nprocessors * BUSY

          limited("load", load, "#{text}: other programs run, so measurements will scatter", "see which: top -o %CPU")
        end

        def memory
          total = meminfo("MemTotal")
          return unknown("memory") unless total

          free = meminfo("MemAvailable")
          text = "#{Quantity.memory(total)}#{", #{Quantity.memory(free)} available" if free}"
          limit = @cgroup.memory
          return ok("memory", total, text) unless limit && limit < total

          limited("memory", limit, "#{Quantity.memory(limit)} for this container, of #{text}",
                  "give the container more: docker run --memory 4g")
        end

        def meminfo(name)
          kilobytes = read("proc/meminfo").to_s[/^#{name}:\s+(\d+) kB/, 1]
          kilobytes && (kilobytes.to_i * 1024)
        end
      end
    end
  end
end
