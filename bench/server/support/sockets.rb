# frozen_string_literal: true

require "open3"

module Bench
  module Server
    # What the kernel of the server's machine says of a server's sockets: a load generator knows what it was answered, and not
    # whom the server never saw.
    module Sockets
      module_function

      # Bytes that went out on each established connection of the server. Those in the backlog, which nobody has accepted, are
      # among them, with 0.
      # @param port [Integer] of the server
      # @return [Array<Integer>]
      def sent(port) = ask("-tinOH", "state", "established", "sport = :#{port}").map { |line| line[/bytes_sent:(\d+)/, 1].to_i }

      # Connections that the kernel has turned away from the listening socket since it was opened, because its queue was full.
      # (ListenOverflows of /proc/net/netstat is the sum of all on the machine.)
      # @param port [Integer] of the server
      # @return [Integer]
      def turned_away(port) = ask("-tlnmOH", "sport = :#{port}").sum { |line| line[/skmem:\([^)]*\bd(\d+)\)/, 1].to_i }

      def ask(*arguments)
        output, status = Open3.capture2("ss", *arguments)
        raise "ss(8) failed: it is in the package iproute2" unless status.success?

        output.lines
      end
      private_class_method :ask
    end
  end
end
