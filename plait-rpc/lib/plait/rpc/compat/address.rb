# frozen_string_literal: true

require "ipaddr"
require "socket"
require_relative "version"

module Plait
  module RPC
    module Compat
      # An address of IP with a port, which can be sent itself: two bytes of the port, then four or sixteen of the address.
      class Address
        # @param raw [String] as of {#dump}
        # @return [Address]
        def self.load(raw) = new(*parse(raw))

        # @return [Array(String, Integer)] host and port
        def self.parse(raw) = [IPAddr.new_ntoh(raw.b[2..]).to_s, raw.unpack1("n")]

        # @return [String]
        attr_reader :host
        # @return [Integer] 0: nobody can connect to it
        attr_reader :port

        # @param host [String] a name too: it is looked up now
        # @param port [Integer]
        def initialize(host, port)
          found = Addrinfo.tcp(host, port)
          @host = found.ip_address
          @port = found.ip_port
        end

        # @return [Boolean]
        def connectable? = @port != 0

        # @return [String] packed for the system
        def sockaddr = Socket.pack_sockaddr_in(@port, @host)

        # @return [Array(String, Integer)]
        def unpack = [@host, @port]
        alias to_a unpack

        # @return [String]
        def dump = [@port].pack("n") + IPAddr.new(@host[/[^%]+/]).hton

        # @return [String, Object] what is written: {#dump}, packed
        def to_msgpack(out = +"") = dump.to_msgpack(out)

        # @return [String]
        def to_s = unpack.join(":")

        # @return [Integer] in the order of their bytes
        def <=>(other) = dump <=> other.dump

        # @return [Boolean] whether they are the same host and port
        def ==(other) = other.instance_of?(Address) && unpack == other.unpack
        alias eql? ==

        # @return [Integer] equal for equal ones
        def hash = unpack.hash

        # @return [String]
        def inspect = "#<#{self.class} #{self}>"
      end
    end
  end
end
