# frozen_string_literal: true

require "plait/io/endpoint"
require_relative "../../rpc"
require_relative "call"

module Plait
  module CLI
    class Rpc < Command
      # `plait rpc serve`
      class Serve < Command
        LISTEN = "tcp://127.0.0.1:18800"

        # Serves until it is interrupted.
        def call
          raise UsageError, "plait rpc serve takes one FILE.rb" unless words.size == 1

          server = RPC::Server.new(handler(words.first), **manner)
          urls.each { |url| listen(server, url) }
          await(server)
          ExitStatus::OK
        end

        private

        # @return [Object] the last value of the file
        def handler(path)
          value = evaluate(File.read(path, encoding: Encoding::UTF_8), path)
          return value unless value.nil?

          raise UsageError, "#{path}: its last value is to be the object whose methods are served, and it is nil"
        rescue SystemCallError => e
          raise UsageError, "#{path} can't be read: #{SystemReason.of(e)}"
        end

        def evaluate(source, path)
          TOPLEVEL_BINDING.eval(source, File.expand_path(path), 1)
        rescue SyntaxError => e
          raise UsageError, "#{path} does not parse: #{e.message.lines.first(2).map(&:strip).join(" ")}"
        rescue StandardError, LoadError, NotImplementedError => e
          line = e.backtrace_locations&.find { |place| place.path == File.expand_path(path) }&.lineno
          raise UsageError, "#{[path, line].compact.join(":")}: #{e.class}: #{e.message.lines.first.to_s.strip}"
        end

        def manner
          { on: mechanism, limit: count("limit"), workers: count("workers"), errors: options["errors"]&.to_sym,
            secret: ENV.fetch(Connecting::SECRET, nil) }.compact
        end

        def count(option) = options[option]&.then { |text| Arguments.count("--#{option}", text) }

        def mechanism = (options["on"] || "threads").split("+").map(&:to_sym).then { |names| names.one? ? names.first : names }

        def urls = options["listen"] ? Arguments.words("--listen", options["listen"]) : [LISTEN]

        def listen(server, url)
          endpoint = Io::Endpoint.parse(url)
          terminal.say("listening on #{server.listen(endpoint, tls: (tls if endpoint.tls?))}")
        end

        def tls
          require "plait/io/tls"
          certificate, key = %w[cert key].map { |name| Arguments.text("--#{name}", options[name]) }
          trust = { client_ca: Arguments.text("--cacert", options["cacert"]), verify_client: :required } if options["cacert"]
          @tls ||= Io::TLS::Server.new(certificate: certificate, key: key, **trust.to_h)
        end

        # The signal reaches this thread; the server ends on its own.
        def await(server)
          thread = server.start
          thread.report_on_exception = false # it is raised here
          thread.join
        rescue Interrupt
          terminal.note("plait: ending; a second Ctrl-C does not wait for running calls")
          server.stop
          thread.join
        end
      end
    end
  end
end
