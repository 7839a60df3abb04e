# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Finds what inside a value Marshal can't dump.
      class Culprit
        DEPTH = 20

        # @param value [Object]
        # @param name [String] what to call the value itself
        # @return [String] such as "the result[3].@callback is a Proc"
        def self.describe(value, name) = new.describe(value, name, DEPTH)

        # @return [Boolean]
        def self.dumps?(value)
          Marshal.dump(value)
          true
        rescue StandardError, SystemStackError
          false
        end

        def describe(value, path, depth)
          place, part = parts(value).find { |_, inner| !Culprit.dumps?(inner) } if depth.positive?
          place ? describe(part, path + place, depth - 1) : "#{path} is #{kind(value)}"
        end

        private

        def parts(value)
          case value
          when Array then value.each_with_index.map { |inner, i| ["[#{i}]", inner] }
          when Hash then value.flat_map { |key, inner| [["[#{short(key)}]", inner], [".keys", key]] }
          when Struct then value.members.map { |name| [".#{name}", value[name]] }
          else value.instance_variables.map { |name| [".#{name}", value.instance_variable_get(name)] }
          end
        end

        def short(key) = key.is_a?(Symbol) || key.is_a?(String) || key.is_a?(Integer) ? key.inspect[0, 40] : key.class.name

        def kind(value)
          name = value.class.name
          return "an object of an anonymous class" unless name

          "#{name.match?(/\A[AEIO]/) ? "an" : "a"} #{name}"
        end
      end
    end
  end
end
