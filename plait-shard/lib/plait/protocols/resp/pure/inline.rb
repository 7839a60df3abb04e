# frozen_string_literal: true

require "strscan"

module Plait
  module Protocols
    module RESP
      module Pure
        # A command as people type it: words between blanks, "…" with escapes and '…', as redis-server reads them.
        module Inline
          BLANKS = /[ \t-\r]+/n
          PLAIN = /[^ \t-\r"']+/n
          DOUBLE = /"((?:[^"\\]|\\.)*)"(?=[ \t-\r]|\z)/mn
          SINGLE = /'((?:[^'\\]|\\'|\\(?!'))*)'(?=[ \t-\r]|\z)/mn
          ESCAPE = /\\(?:x\h\h|.)/mn
          BYTES = { "n" => "\n", "r" => "\r", "t" => "\t", "b" => "\b", "a" => "\a" }.freeze

          module_function

          # @param line [String]
          # @return [Array<String>, nil] nil: a quote does not end
          def split(line)
            rest = StringScanner.new(line.b[/\A[^\0]*/mn])
            words = []
            rest.skip(BLANKS)
            until rest.eos?
              words << (word(rest) || (return nil))
              rest.skip(BLANKS)
            end
            words
          end

          # A quote that ends ends the word.
          def word(rest)
            word = "".b
            word << rest.matched if rest.scan(PLAIN)
            return word unless rest.match?(/["']/n)

            quoted(rest)&.then { |text| word << text }
          end

          def quoted(rest)
            return rest[1].gsub("\\'", "'") if rest.scan(SINGLE)

            rest[1].gsub(ESCAPE) { |escape| unescape(escape) } if rest.scan(DOUBLE)
          end

          def unescape(escape)
            escape.bytesize > 2 ? escape[2..].hex.chr : BYTES.fetch(escape[1], escape[1])
          end
          private_class_method :word, :quoted, :unescape
        end
      end
    end
  end
end
