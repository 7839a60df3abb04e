# frozen_string_literal: true

module Plait
  module RPC
    # An object whose methods are those of a server: what is called on it, the server is asked for. What Ruby itself asks of any
    # object (`puts proxy`, `[proxy].flatten`, `case proxy`) stays here: by {Client#call} a server can be asked for that too.
    #
    # @example
    #   calculator = client.proxy
    #   calculator.add(1, 2)
    class Proxy < BasicObject
      # Ruby converts an object that has one of these.
      CONVERSIONS = %i[to_a to_ary to_c to_enum to_f to_hash to_i to_int to_io to_json to_msgpack to_open to_path to_proc to_r
                       to_regexp to_str to_sym to_yaml as_json coerce encode_with marshal_dump _dump].freeze
      private_constant :CONVERSIONS
      %i[=== eql? frozen? hash instance_of? is_a? kind_of? nil? object_id].each do |name|
        define_method(name, ::Kernel.instance_method(name))
      end

      # @param client [Client]
      # @param timeout [Numeric, nil] seconds for each call
      # @api private
      def initialize(client, timeout)
        @client = client
        @timeout = timeout
      end

      # @return [String]
      def inspect = "#<Plait::RPC::Proxy #{@client.endpoint}>"

      alias to_s inspect

      # @return [Boolean]
      def respond_to?(name, *) = respond_to_missing?(name)

      # @api private
      def respond_to_missing?(name, _private = false) = !CONVERSIONS.include?(name.to_sym)

      private

      def method_missing(name, *arguments, **named)
        if CONVERSIONS.include?(name)
          ::Kernel.raise(::NoMethodError.new("#{inspect} has no #{name} here: ask the server by call", name, receiver: self))
        end

        arguments << named unless named.empty?
        @client.call(name, *arguments, timeout: @timeout)
      end
    end
  end
end
