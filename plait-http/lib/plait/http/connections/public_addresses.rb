# frozen_string_literal: true

require "ipaddr"

module Plait
  module HTTP
    class Connections
      # Tells addresses of the public Internet from the special ones (RFC 6890): this machine, its network, or a cloud's own
      # network that hands out credentials.
      module PublicAddresses
        SPECIAL = %w[
          0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
          192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
          2001::/23 2001:db8::/32 2002::/16 3fff::/20
        ].map { |network| IPAddr.new(network) }.freeze
        # RFC 4291 §2.4: all global unicast addresses so far. IPv6 forms of IPv4 addresses are outside of it.
        GLOBAL = IPAddr.new("2000::/3")
        private_constant :SPECIAL, :GLOBAL

        # @param address [Addrinfo]
        # @return [Boolean]
        def self.call(address)
          ip = IPAddr.new(address.ip_address[/\A[^%]*/])
          (ip.ipv4? || GLOBAL.include?(ip)) && SPECIAL.none? { |network| network.family == ip.family && network.include?(ip) }
        end
      end
      private_constant :PublicAddresses
    end
  end
end
