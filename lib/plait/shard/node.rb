# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Shard
    # One Redis of several behind an address.
    class Node
      # twemproxy leaves the port out of the name where it is memcached's.
      NAMELESS_PORT = 11_211
      # Of an address, as {parse} takes it.
      FORM = /\A(?:\[(?<v6>[^\]]+)\]|(?<host>[^:\s\[\]]+)):(?<port>\d+)(?::(?<weight>\d+))?(?:\s+(?<name>\S+))?\z/

      # @return [String]
      attr_reader :host
      # @return [Integer]
      attr_reader :port
      # @return [Integer] its share of the keys, against the others'
      attr_reader :weight
      # @return [String] what it is called in twemproxy's ring
      attr_reader :name

      # @param text [String, Node] "HOST:PORT", "HOST:PORT:WEIGHT" or "HOST:PORT:WEIGHT NAME", as in twemproxy's file; a host with
      #   colons stands in brackets
      # @return [Node]
      # @raise [UsageError]
      def self.parse(text)
        return text if text.is_a?(Node)

        match = FORM.match(text.to_s) or
          raise UsageError, "the node #{text.inspect} is not of the form HOST:PORT, HOST:PORT:WEIGHT or HOST:PORT:WEIGHT NAME"
        new(match[:v6] || match[:host], Integer(match[:port], 10), weight: Integer(match[:weight] || "1", 10),
                                                                   name: match[:name])
      end

      # @raise [UsageError]
      def initialize(host, port, weight: 1, name: nil)
        raise UsageError, "the port of a node is from 1 to 65535, not #{port.inspect}" unless (1..65_535).cover?(port)
        raise UsageError, "the weight of a node is from 1 to 10000, not #{weight.inspect}" unless (1..10_000).cover?(weight)

        @host = host
        @port = port
        @weight = weight
        @name = name || (port == NAMELESS_PORT ? host : to_s)
        freeze
      end

      # @return [String] "HOST:PORT"
      def to_s = host.include?(":") ? "[#{host}]:#{port}" : "#{host}:#{port}"
    end
  end
end
