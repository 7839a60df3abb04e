# frozen_string_literal: true

module Plait
  module HTTP
    class URL
      # A label of a name in letters of ASCII (RFC 3492): "bücher" is "bcher-kva".
      module Punycode
        # RFC 3492 §5
        BASE = 36
        LEAST = 1
        MOST = 26
        SKEW = 38
        DAMP = 700
        FIRST_BIAS = 72
        FIRST = 128
        DIGITS = [*"a".."z", *"0".."9"].freeze

        class << self
          # @param label [String] in UTF-8
          # @return [String] ASCII, without "xn--"
          def encode(label)
            points = label.codepoints
            plain = points.select { |point| point < FIRST }
            out = plain.pack("U*")
            out << "-" unless plain.empty?
            append(out, points, plain.size)
          end

          private

          # §6.3: the other characters, in the order of their numbers, each as its distance from the one before.
          def append(out, points, done)
            bias = FIRST_BIAS
            first = true
            distances(points, done) do |distance, count|
              number(out, distance, bias)
              bias = adapted(distance, count, first)
              first = false
            end
            out
          end

          # @yieldparam distance [Integer] to the next character: over numbers and places
          # @yieldparam count [Integer] of characters that are written then
          def distances(points, done)
            point = FIRST
            distance = 0
            points.uniq.select { |other| other >= FIRST }.sort.each do |following|
              distance += (following - point) * (done + 1)
              points.each do |other|
                distance += 1 if other < following
                next unless other == following

                yield(distance, done += 1)
                distance = 0
              end
              distance += 1
              point = following + 1
            end
          end

          # A number of digits whose weights follow the bias.
          def number(out, rest, bias)
            (BASE..).step(BASE) do |position|
              threshold = (position - bias).clamp(LEAST, MOST)
              return out << DIGITS[rest] if rest < threshold

              rest, digit = (rest - threshold).divmod(BASE - threshold)
              out << DIGITS[threshold + digit]
            end
          end

          # §6.1
          def adapted(delta, count, first)
            delta /= first ? DAMP : 2
            delta += delta / count
            shifts = 0
            while delta > (BASE - LEAST) * MOST / 2
              delta /= BASE - LEAST
              shifts += BASE
            end
            shifts + ((BASE - LEAST + 1) * delta / (delta + SKEW))
          end
        end
      end
      private_constant :Punycode

      # Makes a URL of what people write and what servers send: a name in any script, raw spaces and letters.
      module Repair
        # Bytes that no URL may have.
        RAW = /[^\x21-\x7e]/n
        AUTHORITY = %r{\A((?:[a-z][a-z0-9+.-]*:)?//)([^/?\#]*)(.*)\z}mi
        # The full stops of IDNA (RFC 3490 §3.1).
        DOTS = /[.\u3002\uff0e\uff61]/
        # What a label has after normalization: above all nothing that ends a host.
        LABEL = /\A[\p{L}\p{M}\p{N}_-]+\z/
        LONGEST_LABEL = 63

        class << self
          # @raise [UsageError] for a name that has no form in ASCII
          def call(text)
            text = text.encoding == Encoding::BINARY ? text.dup.force_encoding(Encoding::UTF_8) : text.encode(Encoding::UTF_8)
            return encode(text) unless text.valid_encoding?

            text = text.strip
            parts = AUTHORITY.match(text)
            parts ? "#{parts[1]}#{authority(parts[2])}#{encode(parts[3])}" : encode(text)
          rescue EncodingError => e
            raise UsageError, "a URL can't be put into UTF-8: #{e.message}"
          end

          private

          def encode(text) = text.b.gsub(RAW) { |byte| format("%%%02X", byte.ord) }.force_encoding(Encoding::UTF_8)

          def authority(text)
            userinfo, at, place = text.rpartition("@")
            host, colon, port = place.partition(/:\d*\z/)
            "#{encode(userinfo)}#{at}#{host.ascii_only? ? host : ascii(host)}#{colon}#{port}"
          end

          # Normalized as browsers do it (UTS 46, nontransitional), without its tables of characters that no name has.
          def ascii(host)
            normal = host.unicode_normalize(:nfkc).downcase.unicode_normalize(:nfkc)
            normal.split(DOTS, -1).map { |label| label.empty? ? label : encoded(label) || refuse(host, label) }.join(".")
          end

          def encoded(label)
            return unless label.size <= LONGEST_LABEL && LABEL.match?(label)

            text = label.ascii_only? ? label : "xn--#{Punycode.encode(label)}"
            text if text.size <= LONGEST_LABEL
          end

          def refuse(host, label)
            raise UsageError, "#{Secrets.hide(host).inspect} can't be a host: the part #{label.inspect} has a character that " \
                              "no name has, or is too long"
          end
        end
      end
      private_constant :Repair
    end
  end
end
