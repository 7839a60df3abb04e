# frozen_string_literal: true

require "json"
require "plait/cli/command"

module Plait
  module CLI
    class Rpc < Command
      # Words of the command line as values, and values as words.
      module Values
        class << self
          # @param word [String]
          # @return [Object] what it is as JSON; itself, where it is none
          def parse(word)
            JSON.parse(word)
          rescue JSON::ParserError
            word
          end

          # @param value [Object] a result
          # @param json [Boolean] strings too
          # @return [String] a line; bytes that are no text as they are
          def print(value, json: false)
            text = value.is_a?(String) && !json ? value : JSON.generate(plain(value))
            text.end_with?("\n") || !text.valid_encoding? || text.encoding == Encoding::BINARY ? text : "#{text}\n"
          end

          private

          # Bytes that are no text are {"base64": …}, what is of an unknown extension type has that besides.
          def plain(value)
            case value
            when Hash then value.to_h { |key, one| [plain(key), plain(one)] }
            when Array then value.map { |one| plain(one) }
            when String then text(value)
            when Float then value.finite? ? value : value.to_s
            else value.respond_to?(:payload) ? { "type" => value.type, **bytes(value.payload) } : value
            end
          end

          def text(value)
            utf8 = value.dup.force_encoding(Encoding::UTF_8)
            utf8.valid_encoding? ? utf8 : bytes(value)
          end

          def bytes(value) = { "base64" => [value].pack("m0") }
        end
      end
    end
  end
end
