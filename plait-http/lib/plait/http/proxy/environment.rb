# frozen_string_literal: true

require "ipaddr"

module Plait
  module HTTP
    module Proxy
      # http_proxy, https_proxy, all_proxy and no_proxy; in lower case first. This machine itself is never asked for by way
      # of a proxy.
      #
      # no_proxy is a list of hosts, divided by commas or spaces: "example.org" also stands for the names below it,
      # ".example.org" for those alone, "example.org:8080" for one port, "10.0.0.0/8" for addresses, "*" for all.
      class Environment
        # @param env [#[]]
        def initialize(env = ENV)
          @env = env
        end

        # @param origin [Origin]
        # @return [Array(String, String), nil] the variable and its value; nil: no proxy
        def proxy_for(origin)
          found = variables(origin.scheme).lazy.map { |name| [name, @env[name].to_s.strip] }.find { |_, value| !value.empty? }
          found unless found.nil? || direct?(origin)
        end

        private

        # A CGI program's HTTP_PROXY is the header Proxy of whoever asks (httpoxy, CVE-2016-5385).
        def variables(scheme)
          names = ["#{scheme}_proxy", "#{scheme}_proxy".upcase, "all_proxy", "ALL_PROXY"]
          @env["REQUEST_METHOD"] ? names - ["HTTP_PROXY"] : names
        end

        def direct?(origin)
          address = address(origin.host)
          origin.host == "localhost" || address&.loopback? ||
            exceptions.any? { |entry| except?(entry, origin, address) }
        end

        def exceptions = (@env["no_proxy"] || @env["NO_PROXY"]).to_s.downcase.split(/[\s,]+/).reject(&:empty?)

        def except?(entry, origin, address)
          return true if entry == "*"

          host, port = place(entry)
          return false if port && port.to_i != origin.port

          network = address(host)
          return address && within?(address, network) if network

          host.start_with?(".") ? origin.host.end_with?(host) : ".#{origin.host}".end_with?(".#{host}")
        end

        def within?(address, network) = network.family == address.family && network.include?(address)

        # An IPv6 address has colons of its own.
        def place(entry)
          return entry.match(/\A\[(.*)\](?::(\d+))?\z/)&.captures || [entry, nil] if entry.start_with?("[")

          entry.count(":") > 1 ? [entry, nil] : entry.split(":", 2)
        end

        # @return [IPAddr, nil]
        def address(text)
          IPAddr.new(text)
        rescue IPAddr::Error
          nil
        end
      end
    end
  end
end
