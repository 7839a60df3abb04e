# frozen_string_literal: true

require "yaml"
require "plait/values/errors"
require "plait/values/system_reason"
require_relative "settings"

module Plait
  module Shard
    # The options of a {Proxy} in a file of YAML:
    #
    #     nodes: [10.0.0.1:6379, 10.0.0.2:6379:2]
    #     listen: 0.0.0.0:6380
    #     placement: twemproxy
    #     tag: "{}"
    #
    # Servers may have replicas, or be told of by a cluster or by Sentinels:
    #
    #     nodes: [{master: 10.0.0.1:6379, replicas: [10.0.0.3:6379]}]
    #     cluster: [10.0.0.1:6379, 10.0.0.2:6379]
    #     sentinels: [10.0.0.1:26379]
    #     masters: [first, second]
    #     reads: replicas
    module Configuration
      # Their values are names.
      NAMES = %i[placement hash distribution strategy reads].freeze
      # Tags that are rules and not two delimiters.
      TAGS = %w[last_brace first_brace].freeze
      KNOWN = [:listen, :threads, :metrics, *Settings::NAMES].freeze
      private_constant :NAMES, :KNOWN

      # @param path [String]
      # @param also [Array<Symbol>] options that are not of a {Proxy}, and may stand there as well
      # @return [Hash{Symbol => Object}] for {Proxy#initialize}
      # @raise [UsageError]
      def self.read(path, also: [])
        options = YAML.safe_load_file(path)
        raise UsageError, "#{path}: must be options with values, such as nodes: [HOST:PORT, HOST:PORT]" unless options.is_a?(Hash)

        options = options.transform_keys { |name| name.to_s.to_sym }
        check(path, options, KNOWN + also)
        options.to_h { |name, value| [name, value_of(name, value)] }
      rescue SystemCallError => e
        raise UsageError, "can't read #{path}: #{SystemReason.of(e)}"
      rescue Psych::Exception => e
        raise UsageError, "#{path} is not YAML: #{e.message}"
      end

      def self.check(path, options, known)
        odd = options.keys - known
        raise UsageError, "#{path}: no option #{odd.first.inspect[1..]}; there are #{known.join(", ")}" if odd.any?

        empty = options.key(nil)
        raise UsageError, "#{path}: #{empty}: has no value" if empty
      end

      def self.value_of(name, value)
        names = NAMES.include?(name) || (name == :tag && TAGS.include?(value))
        names ? value.to_s.to_sym : value
      end
      private_class_method :check, :value_of
    end
  end
end
