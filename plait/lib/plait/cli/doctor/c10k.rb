# frozen_string_literal: true

require_relative "machine"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # The limits of this machine for a server with many connections at once, ten thousand by default.
      class C10k < Examiner
        GROUP = "connections"
        # Descriptors for files, databases and logs.
        SPARE = 1000
        # Connections that come in one burst, before any is accepted.
        BURST = 4096
        # Bytes of an idle connection: Plait's, and the kernel's with its smallest buffers.
        IDLE = 12 * 1024
        # Bytes of a busy connection: data on its way in and out.
        BUSY = 64 * 1024
        # One connection in this many is busy at a moment; raising it lowers the memory that is asked for.
        SHARE = 10
        # Connections are remembered for a while after their end: so many times more.
        REMEMBERED = 2
        PAGE = 4096

        def initialize(connections = 10_000, root: "/", limits: Process)
          super(root: root)
          @connections = connections
          @limits = limits
        end

        def checks = [descriptors, open_files, watches, backlog, handshakes, ports, memory, buffers, tracking].compact

        private

        # plait serve raises its own limit as far as that goes.
        def descriptors
          needed = @connections + SPARE
          _, hard = @limits.getrlimit(:NOFILE)
          text = "a process may have #{Quantity.count(hard)} open files and sockets; #{Quantity.count(needed)} are needed"
          more = roomy(needed)
          judge("descriptors", hard, needed, text,
                "ulimit -Hn #{more}, or LimitNOFILE=#{more} in a unit of systemd, or docker run --ulimit nofile=#{more}")
        rescue NotImplementedError, ArgumentError, SystemCallError
          unknown("descriptors")
        end

        def open_files = setting("open files", "fs.file-max", (@connections * 2) + SPARE, "open on the whole machine")

        def watches = setting("watches", "fs.epoll.max_user_watches", @connections + SPARE, "watched by epoll, for each user")

        def backlog = setting("backlog", "net.core.somaxconn", BURST, "connections that wait to be accepted")

        # With cookies a full queue of handshakes costs some speed, and no connection.
        def handshakes
          key = "net.ipv4.tcp_max_syn_backlog"
          words = "handshakes that are not complete"
          length = number(key)
          return setting("handshakes", key, BURST, words) unless length && number("net.ipv4.tcp_syncookies") == 1

          ok("handshakes", length, "#{Quantity.count(length)} #{words} (#{key}); cookies beyond that",
             (command(key, BURST) if length < BURST))
        end

        # Of a proxy before the server, or a program that measures it: each has one for each connection to the same address.
        def ports
          first, last = numbers("net.ipv4.ip_local_port_range")
          return unknown("ports") unless last

          text = "#{Quantity.count(last - first + 1)} connections from one address to one place " \
                 "(net.ipv4.ip_local_port_range is #{first} to #{last})"
          judge("ports", last - first + 1, @connections + 1, text, "sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"")
        end

        def memory
          needed = (@connections * IDLE) + (@connections / SHARE * BUSY)
          free = [meminfo("MemAvailable"), Cgroup.new(root: @root).memory].compact.min or return unknown("memory")
          text = "#{Quantity.memory(free)} are there; connections alone need about #{Quantity.memory(needed)}"
          judge("memory", free, needed * 2, text, "give it more, or docker run --memory #{(needed * 4) >> 20}m")
        end

        # The second number: from there on the kernel gives connections smaller buffers.
        def buffers
          pages = numbers("net.ipv4.tcp_mem")
          return unknown("buffers") unless pages&.size == 3

          needed = @connections / SHARE * BUSY * 2 / PAGE
          text = "#{Quantity.memory(pages[1] * PAGE)} for the buffers of all connections (net.ipv4.tcp_mem)"
          judge("buffers", pages[1], needed, text, command("net.ipv4.tcp_mem", "\"#{needed} #{needed * 2} #{needed * 3}\""))
        end

        # Where there is no firewall that keeps track there is nothing to say.
        def tracking
          most = number("net.netfilter.nf_conntrack_max") or return
          needed = @connections * REMEMBERED
          text = "#{Quantity.count(most)} connections that the firewall remembers (net.netfilter.nf_conntrack_max)"
          free = most - number("net.netfilter.nf_conntrack_count").to_i
          return ok("tracking", most, text) if free >= needed

          limited("tracking", most, "#{text}, of which #{Quantity.count(free)} are free",
                  command("net.netfilter.nf_conntrack_max", roomy(most - free + needed)))
        end

        def setting(name, key, needed, words)
          value = number(key) or return unknown(name)
          text = "#{Quantity.count(value)} #{words} (#{key})"
          return ok(name, value, text) if value >= needed

          limited(name, value, "#{text}; #{Quantity.count(needed)} are needed", command(key, roomy(needed)))
        end

        def command(key, value) = "sysctl -w #{key}=#{value}"

        # The next power of two.
        def roomy(number) = 1 << (number - 1).bit_length
      end
    end
  end
end
