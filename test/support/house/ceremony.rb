# frozen_string_literal: true

module Support
  module House
    # Lines of Ruby that only wire files together: `require`, `module` and `class` with the `end`s that close them,
    # `private_constant` and the comment about frozen strings. The `end` of a method or a block is no ceremony.
    #
    # Read by indentation, as rubocop keeps it: an `end` closes the last `module` or `class` with the same indentation.
    class Ceremony
      FROZEN = /\A# frozen_string_literal:/
      NO_CODE = /\A\s*(?:#.*)?\n?\z/
      WIRING = /\A\s*(?:require(?:_relative)?|private_constant)\b/
      OPENING = /\A(?<indentation> *)(?:module|class)\b/
      ON_ONE_LINE = /\bend\s*\z/
      CLOSING = /\A(?<indentation> *)end\b/

      # @return [Integer] lines that are neither empty nor a comment; the comment about frozen strings counts as one
      attr_reader :code
      # @return [Integer] lines of ceremony
      attr_reader :lines

      # @param paths [Array<String>] of Ruby files
      # @return [Ceremony] of all of them together
      def self.of(paths) = new.tap { |all| paths.each { |path| all.add(File.readlines(path)) } }

      def initialize
        @code = 0
        @lines = 0
      end

      # @param lines [Array<String>] of one file
      def add(lines)
        open = []
        lines.each do |line|
          next if line.match?(NO_CODE) && !line.match?(FROZEN)

          @code += 1
          @lines += 1 if wiring?(line, open)
        end
      end

      # @return [Float] per cent of the lines of code
      def share = 100.0 * lines / [code, 1].max

      private

      def wiring?(line, open)
        if (match = OPENING.match(line))
          open << match[:indentation] unless line.match?(ON_ONE_LINE)
          true
        elsif (match = CLOSING.match(line)) && match[:indentation] == open.last
          open.pop && true
        else
          line.match?(FROZEN) || line.match?(WIRING)
        end
      end
    end
  end
end
