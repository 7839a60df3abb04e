# frozen_string_literal: true

require "uri"
require_relative "../place"

module Plait
  class Server
    class ConfigFile
      # Words about where to listen.
      module SocketWords
        # @param place [String] as {Place} takes it: "tcp://0.0.0.0:3000", "unix:///run/app.sock"; once for each place
        # @return [void]
        def bind(place)
          located { Place.new(place.to_s) }
          @settings[:binds] << place.to_s
        end

        # Forgets the places that were named before.
        # @return [void]
        def clear_binds! = @settings[:binds].clear

        # @param number [Integer, String]
        # @param host [String]
        # @return [void]
        def port(number, host = @host)
          bind("tcp://#{bracketed(host)}:#{count(:port, number, from: 0)}")
        end

        # As Puma has it: for {#port} where it says none, from then on.
        # @param host [String]
        # @return [void]
        def set_default_host(host) = @host = text(:set_default_host, host) # rubocop:disable Naming/AccessorMethodName -- Puma's

        # @param host [String]
        # @param port [Integer, String]
        # @param files [Hash] cert:, key: and more, as {Place} takes them
        # @return [void]
        def ssl_bind(host, port, files = {})
          bind("ssl://#{bracketed(host)}:#{count(:ssl_bind, port, from: 0)}?#{URI.encode_www_form(files)}")
        end

        # Each worker has a queue of connections of its own, in the kernel (SO_REUSEPORT).
        # @return [void]
        def reuse_port!(value = true) # rubocop:disable Style/OptionalBooleanParameter
          @settings[:reuse_port] = answer(:reuse_port!, value)
        end

        private

        def bracketed(host)
          host = (host || "0.0.0.0").to_s
          host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host
        end
      end
    end
  end
end
