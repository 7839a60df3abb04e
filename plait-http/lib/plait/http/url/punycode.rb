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
        private_constant(*constants)

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
    end
  end
end
