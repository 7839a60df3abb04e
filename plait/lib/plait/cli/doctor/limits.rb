# frozen_string_literal: true

require_relative "machine"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # The limits of the system for one process.
      class Limits < Examiner
        GROUP = "limits"
        # Linux: a fiber's stack and its guard page are a memory map each.
        MAPS_A_FIBER = 2
        # From here on a number means that there is no limit; systems have different ones for it.
        UNLIMITED = 1 << 62
        # Less than this is in the way of a few thousand connections.
        FEW_DESCRIPTORS = 4096
        FEW_PROCESSES = 512
        # Linux before 5.4 had 128: too short a queue for a burst of connections.
        SHORT_BACKLOG = 1024
        FEW_PORTS = 20_000

        def checks = [descriptors, processes, fibers, backlog, ports]

        private

        def descriptors
          soft, hard = limits_of("open files", :NOFILE)
          text = "#{amount(soft)} open files and sockets#{" (up to #{amount(hard)} on demand)" if hard > soft}"
          judge("descriptors", soft, FEW_DESCRIPTORS, text, "for more connections: ulimit -n #{[hard, 65_536].min}")
        rescue NotImplementedError, ArgumentError, SystemCallError
          unknown("descriptors")
        end

        def processes
          most = [limits_of("processes", :NPROC).first, Cgroup.new(root: @root).processes].compact.min
          text = "#{amount(most)} processes and threads"
          judge("processes", most, FEW_PROCESSES, text, "for more: ulimit -u 4096, or docker run --pids-limit 4096")
        rescue NotImplementedError, ArgumentError, SystemCallError # ArgumentError: macOS and JRuby may not know NPROC
          unknown("processes")
        end

        # The file first, since JRuby's RLIM_INFINITY is -1, less than any limit.
        # @return [Array(Integer, Integer)] the soft limit and the hard one
        def limits_of(name, resource)
          line = read("proc/self/limits").to_s[/^Max #{name}\s+(\S+\s+\S+)/, 1]
          return Process.getrlimit(resource) unless line

          line.split.map { |word| word == "unlimited" ? UNLIMITED : word.to_i }
        end

        def amount(number) = number >= UNLIMITED ? "unlimited" : Quantity.count(number)

        # Never "limited": what comes with Linux is enough for most, and Plait queues the rest.
        def fibers
          return unknown("fibers", "unknown: on #{RUBY_ENGINE} they are no matter of memory maps") if RUBY_ENGINE != "ruby"

          maps = number("vm.max_map_count") or return unknown("fibers")
          most = (maps - read("proc/self/maps").to_s.count("\n")) / MAPS_A_FIBER
          ok("fibers", most, "about #{Quantity.count(most.round(-2))} in a process, two memory maps each " \
                             "(vm.max_map_count is #{Quantity.count(maps)})",
             most < 100_000 ? "for more: sysctl -w vm.max_map_count=1048576" : nil)
        end

        def backlog
          length = number("net.core.somaxconn") or return unknown("backlog")
          text = "#{Quantity.count(length)} connections may wait to be accepted (net.core.somaxconn)"
          judge("backlog", length, SHORT_BACKLOG, text, "for bursts: sysctl -w net.core.somaxconn=4096")
        end

        def ports
          first, last = numbers("net.ipv4.ip_local_port_range")
          return unknown("ports") unless last

          number = last - first + 1
          text = "#{Quantity.count(number)} connections at a time to one address (ephemeral ports #{first} to #{last})"
          judge("ports", number, FEW_PORTS, text, "for more: sysctl -w net.ipv4.ip_local_port_range=\"15000 64999\"")
        end
      end
    end
  end
end
