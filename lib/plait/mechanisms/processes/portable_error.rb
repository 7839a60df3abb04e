# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Takes exceptions through Marshal. Most go as they are, with backtrace and cause. One that holds what can't be
      # dumped, or whose class the reader does not know (required only in the worker), is rebuilt from its description.
      module PortableError
        # Causes of causes that are described.
        DEPTH = 10

        class << self
          # @param error [Exception]
          # @return [String]
          def dump(error) = Marshal.dump([try { Marshal.dump(error) }, describe(error, DEPTH)])

          # @param data [String]
          # @return [Exception]
          def load(data)
            whole, description = Marshal.load(data)
            error = whole && try { Marshal.load(whole) }
            error.is_a?(Exception) ? error : rebuild(description)
          end

          private

          def try
            yield
          rescue StandardError, SystemStackError
            nil
          end

          def describe(error, depth)
            { classes: error.class.ancestors.grep(Class).map(&:name), message: message(error), backtrace: error.backtrace,
              variables: variables(error), cause: error.cause && depth.positive? ? describe(error.cause, depth - 1) : nil }
          end

          def message(error)
            String.new(error.message)
          rescue StandardError => e
            "(its message can't be told: #{e.class})"
          end

          def variables(error)
            error.instance_variables.filter_map do |name|
              dumped = try { Marshal.dump(error.instance_variable_get(name)) }
              [name, dumped] if dumped
            end
          end

          def rebuild(description)
            kind = known_class(description[:classes])
            name = description[:classes].first || "an anonymous error"
            message = description[:message]
            message = "#{name}: #{message}" if kind.name != name
            connect(instance(kind, message, description[:variables]), description)
          end

          def known_class(names)
            names.compact.each do |name|
              found = try { Object.const_get(name) }
              return found if found.is_a?(Class) && found <= Exception
            end
            StandardError
          end

          # The class's own `initialize` may want anything.
          def instance(kind, message, variables)
            error = kind.allocate
            Exception.instance_method(:initialize).bind_call(error, message)
            variables.each { |name, dumped| try { error.instance_variable_set(name, Marshal.load(dumped)) } }
            error.define_singleton_method(:message) { message } unless try { error.message } == message
            error
          end

          def connect(error, description)
            raise error, cause: description[:cause] && rebuild(description[:cause])
          rescue error.class => e
            e.set_backtrace(description[:backtrace])
            e
          end
        end
      end
    end
  end
end
