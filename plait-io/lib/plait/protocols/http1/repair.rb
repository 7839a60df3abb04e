# frozen_string_literal: true

require_relative "syntax"

module Plait
  module Protocols
    module HTTP1
      # Heads of answers that break a rule which a user agent may let pass, as curl and browsers do. Repair rewrites the head
      # by the rules, and the connection is closed after the answer. It reads what has exactly one meaning. Lengths that differ, a
      # CR that no LF follows, and NUL stay errors: an answer could hide another one there. Servers never do this with a request.
      module Repair
        # Rules that the engine found broken where this may help.
        RULES = %i[bare_lf control obs_fold space_in_name two_lengths transfer_coding].freeze
        END_OF_HEAD = /\r?\n\r?\n/n
        # RFC 9112 §2.2, RFC 9110 §5.5
        DANGEROUS = /\0|\r(?!\n)/n
        LINE_END = /\r?\n/n
        FOLD = /\A[ \t]/n

        class << self
          # @param bytes [String] from the first byte of a head
          # @return [String, nil, false] the bytes with a head that keeps the rules; nil: the end of the head has not come yet;
          #   false: there is no telling what it means
          def call(bytes)
            stop = bytes.b.match(END_OF_HEAD) or return
            head = stop.pre_match
            return false if DANGEROUS.match?(head)

            start, *lines = head.split(LINE_END, -1)
            fields = unfolded(lines)
            fields && join(plain(start), framed(fields.map { |line| field(line) }), stop.post_match)
          end

          private

          def join(start, fields, rest)
            lines = fields.map { |name, value| value ? "#{name}: #{value}\r\n" : "#{name}\r\n" }
            "#{start}\r\n#{lines.join}\r\n".b << rest
          end

          # @return [Array<String>, false] RFC 9112 §5.2: a space in the place of a fold
          def unfolded(lines)
            lines.each_with_object([]) do |line, fields|
              next fields << line unless FOLD.match?(line)
              return false if fields.empty?

              fields[-1] = "#{fields.last.rstrip} #{line.strip}"
            end
          end

          # @return [Array(String, String), Array(String)] one of a line without a colon, which stays an error
          def field(line)
            name, value = line.split(":", 2)
            [name.rstrip, *(plain(value).strip if value)]
          end

          def plain(text) = text.tr("\x01-\x08\x0a-\x1f\x7f", " ")

          # RFC 9112 §6.3: Transfer-Encoding overrides Content-Length. `identity` is what older versions called no coding.
          def framed(fields)
            fields = fields.filter_map { |field| coding?(field) ? without_identity(*field) : field }
            lengths, others = fields.partition { |name, _| name.casecmp?("content-length") }
            fields.any? { |field| coding?(field) } && same?(lengths) ? others : fields
          end

          def coding?(field) = field.first.casecmp?("transfer-encoding")

          def without_identity(name, value = nil)
            codings = value.to_s.split(",").map(&:strip).reject { |coding| coding.casecmp?("identity") }
            [name, codings.join(", ")] unless codings.empty?
          end

          def same?(lengths)
            numbers = lengths.flat_map { |_, value| value.to_s.split(",", -1).map(&:strip) }
            numbers.all?(/\A\d+\z/) && numbers.uniq.size < 2
          end
        end
      end
    end
  end
end
