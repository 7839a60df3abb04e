# frozen_string_literal: true

module Plait
  module Shard
    class Placement
      # The part of a key that is hashed; twin of placement.c.
      module Tags
        module_function

        # @param key [String] binary
        # @param rule [String, Symbol, nil] two delimiters, :last_brace, :first_brace, or nil: the whole key
        # @return [String]
        def part(key, rule)
          case rule
          when nil then key
          when :last_brace then behind(key, key.rindex("{"), true)
          when :first_brace then behind(key, key.index("{"), false)
          else between(key, *rule.b.chars)
          end
        end

        def behind(key, brace, may_be_empty)
          return key unless brace && key.end_with?("}")

          tag = key.byteslice((brace + 1)...-1)
          tag.empty? && !may_be_empty ? key : tag
        end

        def between(key, open, close)
          first = key.index(open)
          last = first && key.index(close, first + 1)
          last && last > first + 1 ? key.byteslice((first + 1)...last) : key
        end
        private_class_method :behind, :between
      end
      private_constant :Tags
    end
  end
end
