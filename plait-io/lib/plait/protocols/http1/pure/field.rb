# frozen_string_literal: true

require_relative "../../broken"
require_relative "text"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # A field line: bytes, and where they stand. No control byte is among them but tabs, so that strip and rstrip take
        # white space as HTTP knows it; a pattern that ends in \z would take the square of the time.
        class Field
          TOKEN_RUN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]*/n
          # An element of a comma-separated list, white space around it removed.
          Element = Struct.new(:text, :at)

          class << self
            # @param line [String] binary, free of control bytes
            # @param at [Integer] where it stands
            # @return [Field]
            # @raise [Broken]
            def parse(line, at)
              colon = line.match(TOKEN_RUN, 0).end(0)
              check_name(line, colon, at)
              from = line.index(/[^ \t]/n, colon + 1) || line.bytesize
              new(line.byteslice(0, colon), line.byteslice(from..).rstrip, at, at + from)
            end

            private

            def check_name(line, colon, at)
              after = line[colon]
              return if colon.positive? && after == ":"

              raise Broken.new(after ? mistake(colon, after) : :no_colon, at + colon)
            end

            def mistake(colon, byte)
              return :space_in_name if [" ", "\t"].include?(byte)

              colon.zero? && byte == ":" ? :empty_name : :field_name
            end
          end

          # @return [String] binary
          attr_reader :name, :value
          # @return [Integer]
          attr_reader :name_at, :value_at

          def initialize(name, value, name_at, value_at)
            @name = name
            @value = value
            @name_at = name_at
            @value_at = value_at
          end

          # @return [String] the name in lower case
          def key = @key ||= @name.downcase

          # @return [Array<Element>] at least one, some perhaps empty
          def elements
            at = @value_at
            parts = @value.empty? ? [""] : @value.split(",", -1)
            parts.map do |part|
              element = Element.new(part.strip, at + part[/\A[ \t]*/n].size)
              at += part.bytesize + 1
              element
            end
          end

          # @return [Array(String, String)]
          def to_a = [Text.name(@name), Text.of(@value)]
        end
      end
    end
  end
end
