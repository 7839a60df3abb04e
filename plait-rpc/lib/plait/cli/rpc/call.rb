# frozen_string_literal: true

require "json"
require_relative "../../commands/rpc"
require_relative "../../rpc"

module Plait
  module CLI
    class Rpc < Command
      # The client that options describe.
      module Connecting
        # Seconds.
        TIMEOUT = 30
        # Not an option: any user of the machine can read a command line.
        SECRET = "PLAIT_RPC_SECRET"

        private

        # @yieldparam client [RPC::Client] that waits for no server that is gone
        # @return [Object] the block's value
        def with_client(url, &block)
          RPC::Client.open(url, timeout: timeout, reconnect: 0, secret: ENV.fetch(SECRET, nil), tls: tls, &block)
        rescue CertificateError => e
          raise e.exception(e.message.sub(/as ca_file:( or cert_store:)?/, "by --cacert"))
        end

        # @return [Hash] of {Io::TLS::Client#initialize}
        def tls
          { ca_file: "cacert", certificate: "cert", key: "key" }
            .filter_map { |name, option| [name, Arguments.text("--#{option}", options[option])] if options[option] }.to_h
        end

        def timeout = options["timeout"] ? Arguments.positive("--timeout", options["timeout"]) : TIMEOUT
      end

      # Words of the command line as values, and values as words.
      module Values
        class << self
          # @return [Object] its value as JSON, or the word itself
          def parse(word)
            JSON.parse(word)
          rescue JSON::ParserError
            word
          end

          # @param json [Boolean] strings too
          # @return [String] a line; binary data unchanged
          def print(value, json: false)
            text = value.is_a?(String) && !json ? value : JSON.generate(plain(value))
            text.end_with?("\n") || !text.valid_encoding? || text.encoding == Encoding::BINARY ? text : "#{text}\n"
          end

          private

          # Bytes that are no text become {"base64": …}; a value of an unknown extension type also has its type.
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

      # `plait rpc call`
      class Call < Command
        include Connecting

        def call
          url, method, *arguments = words
          raise UsageError, "plait rpc call needs a URL and a method, as in #{Rpc::EXAMPLES.keys.first}" unless method

          arguments.map! { |word| Values.parse(word) }
          with_client(url) do |client|
            next client.notify(method, *arguments) if options["notify"]

            terminal.data(Values.print(client.call(method, *arguments), json: options["json"]))
          end
          ExitStatus::OK
        end
      end
    end
  end
end
