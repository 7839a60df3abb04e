# frozen_string_literal: true

module Plait
  module Mechanisms
    module State
      # Copies of values that an item could change in place, so that neither the next item nor the caller sees the change:
      # Strings, collections with what they hold, and the configuration where I18n keeps the locale. Other objects stay the
      # caller's: a copy of a connection would be a second owner of its socket.
      module Copy
        # The collections in a collection; a higher number costs each item more time.
        DEPTH = 2
        # Where ActiveSupport keeps CurrentAttributes; they start empty.
        CURRENT_ATTRIBUTES = :current_attributes_instances
        private_constant :DEPTH, :CURRENT_ATTRIBUTES

        class << self
          # @param value [Object]
          # @return [Object] the value itself if it can't change or is no holder of state
          def of(value, depth = DEPTH)
            return value if value.frozen? || depth.zero?

            case value
            when Hash then of_hash(value, depth)
            when Array then value.dup.map! { |held| of(held, depth - 1) }
            when String then value.dup
            else set?(value) || i18n?(value) ? value.dup : value
            end
          end

          private

          def of_hash(hash, depth)
            copy = hash.dup
            copy.delete(CURRENT_ATTRIBUTES)
            copy.transform_values! { |held| of(held, depth - 1) }
          end

          def set?(value) = defined?(::Set) && value.is_a?(::Set)

          def i18n?(value) = defined?(::I18n::Config) && value.is_a?(::I18n::Config)
        end
      end
    end
  end
end
