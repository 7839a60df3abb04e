# frozen_string_literal: true

module Support
  # Which sockets listen at a port. A connection does not prove it: another process may have the port meanwhile, and a socket that
  # gets the same port connects to itself.
  module Ports
    # Where nothing listens: the system gives it to no socket that asks for any port.
    CLOSED = 1
    LISTENING = "0A"
    private_constant :LISTENING

    private

    # @param ports [Array<Integer>]
    # @return [Array<String>] inodes, which no other socket gets later
    def listeners_at(*ports)
      lines = Dir["/proc/net/{tcp,tcp6}"].flat_map { |path| listeners(path) }
      lines.select { |line| ports.include?(line[1][/\h+\z/].hex) }.map { |line| line[9] }
    end

    # The kernel puts them first; to read on takes it a minute where tens of thousands of connections were.
    def listeners(path)
      File.foreach(path).lazy.drop(1).map(&:split).take_while { |line| line[3] == LISTENING }.to_a
    end

    # @yield ends what listens at all of these ports
    def assert_listeners_end(*ports)
      before = ports.flat_map { |port| listeners_at(port).tap { |found| refute_empty(found, "nothing listens at #{port}") } }
      yield
      assert_empty(before & listeners_at(*ports), "sockets that listen still")
    end
  end
end
