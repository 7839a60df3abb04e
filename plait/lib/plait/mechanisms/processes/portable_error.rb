# frozen_string_literal: true

require_relative "../error_description"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Takes exceptions through Marshal. Most go as they are, with backtrace and cause. One that holds what can't be
      # dumped, or whose class the reader does not know (required only in the worker), is rebuilt from its description.
      module PortableError
        class << self
          # @param error [Exception]
          # @return [String]
          def dump(error)
            description = ErrorDescription.of(error) { |one| { variables: variables(one) } }
            Marshal.dump([try { Marshal.dump(error) }, description])
          end

          # @param data [String]
          # @return [Exception]
          def load(data)
            whole, description = Marshal.load(data)
            error = whole && try { Marshal.load(whole) }
            error.is_a?(Exception) ? error : ErrorDescription.rebuild(description) { |made, about| give(made, about[:variables]) }
          end

          private

          def try
            yield
          rescue StandardError, SystemStackError
            nil
          end

          def variables(error)
            error.instance_variables.filter_map do |name|
              dumped = try { Marshal.dump(error.instance_variable_get(name)) }
              [name, dumped] if dumped
            end
          end

          def give(error, variables)
            variables.each { |name, dumped| try { error.instance_variable_set(name, Marshal.load(dumped)) } }
          end
        end
      end
    end
  end
end
