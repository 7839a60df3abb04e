# frozen_string_literal: true

require "strscan"
require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      module Links
        # The tags of an HTML page that open something, in their order, with their attributes; what stands in comments and
        # scripts is no tag.
        module Tags
          OPENING = /([a-z][a-z0-9]*)/in
          ATTRIBUTE = %r{[\s/]*([^\s=>/"'][^\s=>/]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?}n
          ENTITY = /&(?:#(\d{1,7})|#x(\h{1,6})|(amp|lt|gt|quot|apos));/in
          NAMED = { "amp" => "&", "lt" => "<", "gt" => ">", "quot" => "\"", "apos" => "'" }.freeze
          # What is in them is text, up to the tag that closes them.
          RAW = %w[script style textarea title template xmp].to_h { |name| [name, %r{</#{name}}in] }.freeze
          # Attributes of one tag.
          MOST = 100

          class << self
            # @param html [String]
            # @yieldparam name [String] in lower case
            # @yieldparam attributes [Hash{String => String}] names in lower case; the first of a name counts
            # @return [void]
            def each(html)
              scanner = StringScanner.new(html.b)
              while scanner.skip_until(/</n)
                next pass(scanner, /-->/n) if scanner.skip(/!--/n)

                name = scanner.scan(OPENING)&.downcase or next
                yield name, attributes(scanner)
                pass(scanner, RAW[name]) if RAW.key?(name)
              end
            end

            private

            # What is not closed lasts to the end.
            def pass(scanner, ending) = scanner.skip_until(ending) || scanner.terminate

            def attributes(scanner)
              found = {}
              while found.size < MOST && scanner.skip(ATTRIBUTE)
                value = scanner[2] || scanner[3] || scanner[4] || ""
                found[scanner[1].downcase] ||= decode(value)
              end
              found
            end

            def decode(text)
              text.gsub(ENTITY) do
                decimal, hexadecimal, name = Regexp.last_match.captures
                name ? NAMED.fetch(name.downcase) : character(decimal&.to_i || hexadecimal.hex)
              end
            end

            def character(code)
              [code].pack("U").then { |text| text.valid_encoding? ? text.b : "" }
            rescue RangeError
              ""
            end
          end
        end
      end
    end
  end
end
