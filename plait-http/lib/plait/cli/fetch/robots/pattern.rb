# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      class Robots
        # A path in a robots.txt: "*" stands for anything, "$" at its end for the end (RFC 9309 §2.2.3). It takes time in
        # proportion to the path, whatever the pattern.
        class Pattern
          UNRESERVED = /[A-Za-z0-9._~-]/n

          # Makes two ways to write the same path equal (§2.2.2): an escaped character that needs no escape is written out,
          # a byte beyond ASCII is escaped.
          # @param path [String] binary
          # @return [String]
          def self.normalize(path)
            path.gsub(/%\h\h|[^\x21-\x7e]/n) do |found|
              escaped = found.size > 1
              character = escaped ? found[1, 2].hex.chr : found
              escaped && UNRESERVED.match?(character) ? character : format("%%%02X", character.ord)
            end
          end

          # @return [Integer] bytes, as they are compared
          attr_reader :size

          # @param text [String] binary
          def initialize(text)
            normal = Pattern.normalize(text)
            @size = normal.bytesize
            @to_the_end = normal.end_with?("$")
            @first, *@rest = normal.delete_suffix("$").split("*", -1)
            @first ||= ""
          end

          # @param path [String] normalized
          # @return [Boolean]
          def match?(path)
            return false unless path.start_with?(@first)
            return !@to_the_end || path.size == @first.size if @rest.empty?

            place = skip(path) or return false
            last = @rest.last
            @to_the_end ? path.end_with?(last) && path.size - last.size >= place : !path.index(last, place).nil?
          end

          private

          # @return [Integer, nil] the place after all parts but the last, each found as early as can be
          def skip(path)
            @rest[0..-2].inject(@first.size) do |place, part|
              found = path.index(part, place) or return nil
              found + part.size
            end
          end
        end
      end
    end
  end
end
