# frozen_string_literal: true

require "uri"
require_relative "../command"
require_relative "../exit_status"
require_relative "../../io/tls"
require_relative "../../server"
require_relative "../../server/rackup_file"
require_relative "../../../plait"
require_relative "../../values/errors"
require_relative "../../version"

module Plait
  module CLI
    class Serve < Command
      # A server from its first word to its last.
      class Service
        SIGNALS = %w[INT TERM].freeze

        # @param path [String] of a config.ru
        # @param options [Hash{String => String}]
        # @param terminal [Terminal]
        def initialize(path, options, terminal)
          @path = path
          @options = options
          @terminal = terminal
        end

        # @return [void]
        # @raise [UsageError, ListenError, UnsupportedError]
        def run
          drain = number("drain")
          server = Server.new(Server::RackupFile.load(@path), **settings)
          @options["bind"].split(",").each { |place| listen(server, place) }
          tell(server)
          handling_signals(server, drain) { server.run }
          @terminal.note("stopped")
        end

        private

        # As Puma has it: ssl://HOST:PORT?cert=FILE&key=FILE
        def listen(server, place)
          where, query = place.split("?", 2)
          files = URI.decode_www_form(query.to_s).to_h
          return server.listen(where) unless where.match?(/\A(ssl|tls):/)

          server.listen(where, tls: Io::TLS::Server.new(certificate: file(files, "cert", place), key: file(files, "key", place)))
        end

        def file(files, name, place)
          files[name] or raise UsageError, "#{place} lacks its #{name}: ssl://HOST:PORT?cert=FILE&key=FILE"
        end

        def settings
          { on: @options["on"].to_sym, queue: number("queue"), limit: @options["limit"] && number("limit"),
            workers: @options["workers"] && number("workers") }
        end

        def number(name)
          text = @options[name]
          return Integer(text, 10) if text.match?(/\A[1-9]\d*\z/)

          raise UsageError, "--#{name} is a number above 0, not #{text.inspect}"
        end

        def tell(server)
          places = server.endpoints.map { |endpoint| endpoint.to_s.sub(/\Atcp:/, "http:") }
          @terminal.note("plait #{VERSION} serves #{@path} on #{@options["on"]} at #{places.join(", ")}")
        end

        def handling_signals(server, drain)
          before = SIGNALS.to_h { |name| [name, trap(name) { stop(server, drain) }] }
          yield
        ensure
          before&.each { |name, handler| trap(name, handler) }
        end

        # The second time at once.
        def stop(server, drain)
          server.stop(within: @stopping ? 0 : drain)
          @stopping = true
        end
      end
    end
  end
end
