# frozen_string_literal: true

module Plait
  module Shard
    # One Redis of several behind an address.
    class Node
      # twemproxy's name of a node has no port where it is memcached's.
      NAMELESS_PORT = 11_211
      # An address, as {parse} takes it.
      FORM = /\A(?:\[(?<v6>[^\]]+)\]|(?<host>[^:\s\[\]]+)):(?<port>\d+)(?::(?<weight>\d+))?(?:\s+(?<name>\S+))?\z/

      # @return [String]
      attr_reader :host
      # @return [Integer]
      attr_reader :port
      # @return [Integer] its share of the keys, relative to the other nodes
      attr_reader :weight
      # @return [String] its name in twemproxy's ring
      attr_reader :name
      # @return [Array<Node>] its replicas, for reading
      attr_reader :replicas

      # @param text [String, Hash, Node] "HOST:PORT", "HOST:PORT:WEIGHT" or "HOST:PORT:WEIGHT NAME", as in twemproxy's file; a
      #   host with colons stands in brackets. Or a Hash: `master:` such a text, and `replicas:` a list of "HOST:PORT"
      # @return [Node]
      # @raise [UsageError]
      def self.parse(text)
        return text if text.is_a?(Node)
        return parse_group(text) if text.is_a?(Hash)

        match = FORM.match(text.to_s) or
          raise UsageError, "the node #{text.inspect} is not of the form HOST:PORT, HOST:PORT:WEIGHT or HOST:PORT:WEIGHT NAME"
        new(match[:v6] || match[:host], Integer(match[:port], 10), weight: Integer(match[:weight] || "1", 10),
                                                                   name: match[:name])
      end

      def self.parse_group(group)
        master, replicas = group.transform_keys(&:to_s).values_at("master", "replicas")
        known = group.size == [master, replicas].compact.size
        unless known && master.is_a?(String) && (replicas.nil? || replicas.is_a?(Array))
          raise UsageError, "the node #{group.inspect} is not of the form {master: HOST:PORT, replicas: [HOST:PORT, ...]}"
        end

        node = parse(master)
        new(node.host, node.port, weight: node.weight, name: node.name, replicas: Array(replicas).map { |text| parse(text) })
      end
      private_class_method :parse_group

      # @raise [UsageError]
      def initialize(host, port, weight: 1, name: nil, replicas: [])
        raise UsageError, "the port of node #{host} is from 1 to 65535, not #{port.inspect}" unless (1..65_535).cover?(port)
        raise UsageError, "the weight of node #{host} is from 1 to 10000, not #{weight.inspect}" unless (1..10_000).cover?(weight)

        @host = host
        @port = port
        @weight = weight
        @replicas = replicas.freeze
        @name = name || (port == NAMELESS_PORT ? host : to_s)
        freeze
      end

      # @return [String] "HOST:PORT"
      def to_s = host.include?(":") ? "[#{host}]:#{port}" : "#{host}:#{port}"
    end
  end
end
