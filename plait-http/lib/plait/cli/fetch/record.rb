# frozen_string_literal: true

require "json"
require "plait/cli/command"
require_relative "job"
require_relative "result"

module Plait
  module CLI
    class Fetch < Command
      # A finished line of the input, as one line of JSON. The number comes first: after an interruption it is read again
      # without the rest.
      module Record
        BEGINNING = /\A\{"line":(\d+),"ok":(true|false),/

        class << self
          # @param job [Job]
          # @param result [Result]
          # @param file [String, nil] the name of the file that has the body, if one has
          # @return [String] with its line break
          def build(job, result, file: nil)
            fields = { line: job.line, ok: result.ok?, url: job.shown, **answer(result), attempts: job.attempts,
                       bytes: result.bytes, **body(result.body, file), error: error(result) }
            "#{JSON.generate(fields.compact)}\n"
          end

          # @param line [String]
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
            return if result.ok?

            { kind: result.kind, message: utf8(result.message || "status #{result.status}") }
          end

          # Headers may have bytes of any kind (RFC 9110 §5.5): what is no UTF-8 passes for ISO-8859-1.
          def utf8(text)
            copy = text.dup.force_encoding(Encoding::UTF_8)
            copy.valid_encoding? ? copy : copy.force_encoding(Encoding::ISO_8859_1).encode(Encoding::UTF_8)
          end
        end
      end
    end
  end
end
