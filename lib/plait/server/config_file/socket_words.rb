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
        def port(number, host = "0.0.0.0")
          host = host.to_s
          host = "[#{host}]" if host.include?(":") && !host.start_with?("[")
          bind("tcp://#{host}:#{count(:port, number, from: 0)}")
        end

        # @param host [String]
        # @param port [Integer, String]
        # @param files [Hash] cert:, key: and more, as {Place} takes them
        # @return [void]
        def ssl_bind(host, port, files = {})
          bind("ssl://#{host}:#{count(:ssl_bind, port, from: 0)}?#{URI.encode_www_form(files)}")
        end

        # Each worker has a queue of connections of its own, in the kernel (SO_REUSEPORT).
        # @return [void]
        def reuse_port!(value = true) # rubocop:disable Style/OptionalBooleanParameter
          @settings[:reuse_port] = answer(:reuse_port!, value)
        end
      end
    end
  end
end
