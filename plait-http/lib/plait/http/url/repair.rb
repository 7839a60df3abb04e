# frozen_string_literal: true

require "plait/values/errors"
require "plait/values/secrets"
require_relative "punycode"

module Plait
  module HTTP
    class URL
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
        private_constant :RAW, :AUTHORITY, :DOTS, :LABEL, :LONGEST_LABEL

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
