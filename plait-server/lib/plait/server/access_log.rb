# frozen_string_literal: true

require "json"

module Plait
  class Server
    # A line for each request, in a file. The worker of a request only queues its line: a thread writes many lines at once, so
    # that a slow disk holds up no request. Several processes may write to one file: each write is of whole lines.
    class AccessLog
      # Seconds in which lines are gathered.
      PAUSE = 0.1
      # Lines that wait to be written; further ones are lost, and counted.
      MOST = 100_000
      # For standard output.
      STANDARD = "-"

      # @param name [Symbol]
      # @return [#line]
      # @raise [UsageError]
      def self.format(name)
        Formats::ALL.fetch(name) { raise UsageError, "an access log is #{Formats::ALL.keys.join(", ")}, not #{name.inspect}" }
      end

      # @param path [String] or "-"
      # @param format [Symbol] :common, :combined or :json
      # @raise [UsageError]
      def initialize(path, format = :common)
        @path = path
        @format = AccessLog.format(format)
        @lost = 0
        @changing = Mutex.new
        open
        begin_anew
      rescue SystemCallError => e
        raise UsageError, "the access log #{path} can't be opened: #{SystemReason.of(e)}"
      end

      # @return [Integer] lines that could not be written
      attr_reader :lost

      # @param env [Hash] as {Watch} has completed it
      # @param seconds [Float]
      def add(env, status, seconds)
        return @lost += 1 if @lines.size >= MOST

        begin_anew if @generation != Native.fork_generation
        @lines << @format.line(env, status, seconds)
        @writer = Thread.new { write_always } unless @writer&.alive?
      end

      # The file was renamed. A write that is under way ends there. Where no new file can be opened, the old one goes on.
      # @yieldparam path [String] of one that can't be opened
      # @yieldparam reason [String]
      def reopen
        before = @file
        open
        leave(before)
      rescue SystemCallError => e
        yield @path, SystemReason.of(e) if block_given?
      end

      # Writes what is left.
      def close
        return unless @generation == Native.fork_generation

        @closing = true
        @lines.close
        @writer&.join
      end

      private

      def open
        file = @path == STANDARD ? $stdout : File.open(@path, File::WRONLY | File::APPEND | File::CREAT, 0o644)
        file.sync = true
        @file = file
      end

      # A fork has its parent's lines, which are none of its own, and not its thread.
      def begin_anew
        @generation = Native.fork_generation
        @writer = @writing = nil
        @lines = Thread::Queue.new
      end

      def write_always
        while (line = @lines.pop)
          sleep(PAUSE) unless @closing
          write(line)
        end
      end

      def write(first)
        lines = [first]
        lines << @lines.pop until @lines.empty?
        file = @changing.synchronize { @writing = @file }
        file.write(lines.join)
        tell_of_recovery if @failing
      rescue SystemCallError, IOError => e
        @lost += lines.size
        tell_of(e) unless @failing
      ensure
        @changing.synchronize { @writing = nil }
        leave(file) unless file.equal?(@file)
      end

      # Once, as long as it lasts.
      def tell_of(error)
        @failing = true
        reason = error.is_a?(SystemCallError) ? SystemReason.of(error) : error.message
        warn("plait: the access log #{@path} can't be written: #{reason}; lines are lost until it can (process #{Process.pid})")
      end

      def tell_of_recovery
        @failing = false
        warn("plait: the access log #{@path} is written again; #{@lost} lines were lost in all (process #{Process.pid})")
      end

      # A thread that still writes to the file closes it then. No caller waits for that: it may be a pipe without a reader.
      def leave(file) = @changing.synchronize { file.close unless file.equal?(@file) || file.equal?(@writing) }

      # What a line says.
      module Formats
        # As Apache's httpd has had it since ever.
        class Common
          # What would be taken for the end of a field or a line, or does something to a terminal.
          SPECIAL = /["\\[:cntrl:]]|[^[:ascii:]]/n

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

          def more(env) = %w[HTTP_REFERER HTTP_USER_AGENT].map { |name| " \"#{env[name] ? quoted(env[name]) : "-"}\"" }.join
        end

        # An object a line.
        class Json
          # A name in the object => its key in env.
          FIELDS = { method: "REQUEST_METHOD", path: "PATH_INFO", query: "QUERY_STRING", protocol: "SERVER_PROTOCOL",
                     host: "HTTP_HOST", remote: "REMOTE_ADDR", user: "REMOTE_USER", agent: "HTTP_USER_AGENT",
                     referer: "HTTP_REFERER", request_id: "HTTP_X_REQUEST_ID" }.freeze

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

        # By name.
        ALL = { common: Common.new, combined: Combined.new, json: Json.new }.freeze
      end
      private_constant :Formats
    end
  end
end
