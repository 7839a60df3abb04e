# frozen_string_literal: true

require "open3"

module Bench
  module Server
    # What the kernel of the server's machine says of its connections: a load generator counts the requests that were answered,
    # and not on how many connections.
    module Crowd
      module_function

      # Bytes that went out on each established connection of the server. Those in the backlog, which nobody has accepted, are
      # among them, with 0.
      # @param port [Integer] of the server
      # @return [Array<Integer>]
      def sent(port)
        output, status = Open3.capture2("ss", "-tinOH", "state", "established", "sport = :#{port}")
        raise "ss(8) failed: it is in the package iproute2" unless status.success?

        output.each_line.map { |line| line[/bytes_sent:(\d+)/, 1].to_i }
      end

      # Connections that were refused since the machine was started because a listening socket's queue was full.
      # @return [Integer]
      def overflows
        names, values = File.readlines("/proc/net/netstat").grep(/\ATcpExt:/).map(&:split)
        values[names.index("ListenOverflows")].to_i
      end
    end
  end
end
