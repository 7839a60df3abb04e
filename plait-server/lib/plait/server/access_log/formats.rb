# frozen_string_literal: true

require "json"

module Plait
  class Server
    class AccessLog
      # What a line says.
      module Formats
        # As Apache's httpd has had it since ever.
        class Common
          # What would be taken for the end of a field or a line, or does something to a terminal.
          SPECIAL = /["\\[:cntrl:]]|[^[:ascii:]]/n

          # @return [String]
          def line(env, status, _seconds)
            "#{env["REMOTE_ADDR"]} - #{user(env)} [#{time}] \"#{request(env)}\" " \
              "#{status} #{env["plait.length"] || "-"}#{more(env)}\n"
          end

          private

          # Most lines have the same as the one before.
          def time
            now = Time.now
            moment, text = @last
            return text if moment == now.to_i

            now.strftime("%d/%b/%Y:%H:%M:%S %z").tap { |fresh| @last = [now.to_i, fresh] }
          end

          def user(env) = env["REMOTE_USER"] ? quoted(env["REMOTE_USER"]) : "-"

          def request(env)
            query = env["QUERY_STRING"]
            quoted("#{env["REQUEST_METHOD"]} #{env["SCRIPT_NAME"]}#{env["PATH_INFO"]}#{"?#{query}" unless query.empty?} " \
                   "#{env["SERVER_PROTOCOL"]}")
          end

          def quoted(text)
            text = text.b
            return text unless text.match?(SPECIAL)

            text.gsub(SPECIAL) { |byte| %w[" \\].include?(byte) ? "\\#{byte}" : format("\\x%02x", byte.ord) }
          end

          def more(_env) = ""
        end

        # The same, with where the client comes from and what it is.
        class Combined < Common
          private

          def more(env)
            %w[HTTP_REFERER HTTP_USER_AGENT].map { |name| " \"#{env[name] ? quoted(env[name]) : "-"}\"" }.join
          end
        end

        # An object a line.
        class Json
          FIELDS = { method: "REQUEST_METHOD", path: "PATH_INFO", query: "QUERY_STRING", protocol: "SERVER_PROTOCOL",
                     host: "HTTP_HOST", remote: "REMOTE_ADDR", user: "REMOTE_USER", agent: "HTTP_USER_AGENT",
                     referer: "HTTP_REFERER", request_id: "HTTP_X_REQUEST_ID" }.freeze

          # @return [String]
          def line(env, status, seconds)
            fields = FIELDS.transform_values { |key| text(env[key]) }.compact
            JSON.generate({ time: Time.now.utc.strftime("%FT%T.%LZ"), status: status, seconds: seconds.round(6),
                            bytes: env["plait.length"], queued: env["plait.queued"]&.round(6),
                            gvl_wait: env["plait.gvl_wait"]&.round(6), pid: Process.pid, **fields }.compact) << "\n"
          end

          private

          def text(value)
            return if value.nil? || value.empty?

            value.dup.force_encoding(Encoding::UTF_8).scrub
          end
        end

        ALL = { common: Common.new, combined: Combined.new, json: Json.new }.freeze
      end
    end
  end
end
