# frozen_string_literal: true

require_relative "fields"
require "plait/io/native"
require "plait/protocols/http1"

module Plait
  class Server
    # What an app finds as `rack.early_hints`: tells the client what it will need, before the answer is there (RFC 8297).
    class EarlyHints
      # @param app [#call]
      # @return [#call] the app, offered early hints where the client knows them
      def self.offer(app)
        lambda do |env|
          env["rack.early_hints"] = new(env["rack.hijack"]) unless env["SERVER_PROTOCOL"] == "HTTP/1.0"
          app.call(env)
        end
      end

      # @param exchange [Exchange]
      def initialize(exchange)
        @exchange = exchange
      end

      # @param headers [#each] names and values
      # @return [void]
      # @raise [LocalProtocolError]
      def call(headers)
        @exchange.interim([Protocols::HTTP1::Serializer.response(103, NativeServer.reason(103), Fields.of(headers))])
      end
    end
  end
end
