# frozen_string_literal: true

require "yaml"
require_relative "../values/errors"

module Plait
  module Shard
    # The options of a {Proxy} in a file of YAML:
    #
    #     nodes: [10.0.0.1:6379, 10.0.0.2:6379:2]
    #     listen: 0.0.0.0:6380
    #     placement: twemproxy
    #     tag: "{}"
    module Configuration
      # Their values are names.
      NAMES = %i[placement hash distribution strategy].freeze
      # Tags that are rules and not two delimiters.
      TAGS = %w[last_brace first_brace].freeze
      private_constant :NAMES, :TAGS

      # @param path [String]
      # @return [Hash{Symbol => Object}] for {Proxy#initialize}
      # @raise [UsageError]
      def self.read(path)
        options = YAML.safe_load_file(path)
        raise UsageError, "#{path}: must be options with values, such as nodes: [HOST:PORT, HOST:PORT]" unless options.is_a?(Hash)

        options.to_h { |name, value| [name.to_s.to_sym, value_of(name.to_s.to_sym, value)] }
      rescue SystemCallError => e
        raise UsageError, "can't read #{path}: #{e.message[/\A.+?(?= @ | - |\z)/]}"
      rescue Psych::Exception => e
        raise UsageError, "#{path} is not YAML: #{e.message}"
      end

      def self.value_of(name, value)
        names = NAMES.include?(name) || (name == :tag && TAGS.include?(value))
        names ? value.to_s.to_sym : value
      end
      private_class_method :value_of
    end
  end
end
