# frozen_string_literal: true

require "json"

module Plait
  module CLI
    class Fetch < Command
      # One URL to ask for. Plain values only, so that it travels to another process.
      #
      # - line: Integer, of the input
      # - url: String, with the user and the password if it has any
      Job = Struct.new(:line, :url) do
        # The fan-out finds the origin by it.
        alias_method :to_s, :url

        # @return [String] the URL as it may be shown and kept
        def shown = url.sub(%r{\A(\w+://)[^/?#]*@}, "\\1")

        # @return [String] without the port
        def host = shown[%r{\A\w+://(\[[^\]]*\]|[^/?#:]*)}, 1].downcase
      end

      # The end of one job. Plain values only, so that it travels from another process.
      #
      # - status, version, headers ([[name, value], …]), final_url, timings ({phase => seconds}): of the answer, if any
      # - body: binary String | nil
      # - part: String | nil, the file that holds the body instead
      # - bytes: Integer, of the body
      # - seconds: Float, from the beginning of the request to the end of the answer | nil
      # - error: String, the kind of error; message: String; both nil with an answer
      # - attempts: Integer
      # - index: set by the fan-out
      Result = Struct.new(:status, :version, :headers, :final_url, :timings, :body, :part, :bytes, :seconds, :error, :message,
                          :attempts, :index, keyword_init: true) do
        # @param error [StandardError] its class gives the kind: Plait::ConnectTimeout is a "connect_timeout"
        def self.of(error)
          kind = error.class.name.to_s[/\w+\z/].to_s.delete_suffix("Error").gsub(/(?<=[a-z])(?=[A-Z])/, "_").downcase
          failure(kind, error.message)
        end

        # Of a request that was not made, or brought no answer.
        def self.failure(kind, message) = new(error: kind, message: message, headers: [], bytes: 0, attempts: 0)

        # @return [Boolean] an answer with a status below 400
        def ok? = kind.nil?

        # @return [String, nil] the failure in one word
        def kind = error || (status >= 400 ? "status_#{status}" : nil)

        # @param name [String] in lower case
        def header(name) = headers.find { |key, _| key.casecmp?(name) }&.last
      end

      # A finished line of the input, as one line of JSON. The number comes first: after an interruption it is read again
      # without the rest.
      module Record
        BEGINNING = /\A\{"line":(\d+),"ok":(true|false),/

        class << self
          # @param file [String, nil] the name of the file that has the body, if one has
          def build(job, result, file: nil)
            fields = { line: job.line, ok: result.ok?, url: job.shown, **answer(result), attempts: result.attempts,
                       bytes: result.bytes, **body(result.body, file), error: error(result) }
            "#{JSON.generate(fields.compact)}\n"
          end

          # @return [Array(Integer, Boolean), nil] the number, and whether it is a success; nil when it is no record
          def read(line)
            match = BEGINNING.match(line) or return
            [match[1].to_i, match[2] == "true"]
          end

          private

          def answer(result)
            return {} unless result.status

            { final_url: result.final_url, status: result.status, http_version: result.version,
              headers: headers(result.headers), timings: result.timings&.transform_values { |value| value.round(6) } }
          end

          # @return [Hash{String => String, Array<String>}] an Array where a header came several times
          def headers(pairs)
            groups = pairs.group_by { |name, _| utf8(name.downcase) }
            groups.transform_values { |same| same.size == 1 ? utf8(same[0][1]) : same.map { |_, value| utf8(value) } }
          end

          # Text where it is UTF-8, base64 otherwise.
          def body(body, file)
            return { file: file } if file
            return {} unless body

            text = body.dup.force_encoding(Encoding::UTF_8)
            text.valid_encoding? ? { body: text } : { body_base64: [body].pack("m0") }
          end

          def error(result)
            { kind: result.kind, message: utf8(result.message || "status #{result.status}") } unless result.ok?
          end

          # Headers may have bytes of any kind (RFC 9110 §5.5): bytes that are no UTF-8 pass for ISO-8859-1.
          def utf8(text)
            copy = text.dup.force_encoding(Encoding::UTF_8)
            copy.valid_encoding? ? copy : copy.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
          end
        end
      end
    end
  end
end
