# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/errors"
require_relative "culprit"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Takes items and results through Marshal, and says in a person's words what can't go.
      module Cargo
        ADVICE = "Only plain data can: numbers, Strings, Symbols, Arrays, Hashes, Structs and objects made of them. " \
                 "Pass such, or use on: :threads, which shares memory."
        FAILURES = [StandardError, SystemStackError, NoMemoryError].freeze

        class << self
          # @param value [Object]
          # @param name [String] what it is, such as "the result"
          # @return [String]
          # @raise [UnmarshalableError]
          def dump(value, name)
            Marshal.dump(value)
          rescue *FAILURES => e
            raise UnmarshalableError, "#{Culprit.describe(value, name)}, which can't travel between processes " \
                                      "(#{e.message}). #{ADVICE}"
          end

          # @param data [String]
          # @return [Object]
          # @raise [UnmarshalableError]
          def load(data, name)
            Marshal.load(data)
          rescue *FAILURES => e
            raise UnmarshalableError, "#{name} arrived, but can't be loaded on this side of the pipe (#{e.message}). " \
                                      "Load its class (require) before the call, so that both processes know it."
          end
        end
      end
    end
  end
end
