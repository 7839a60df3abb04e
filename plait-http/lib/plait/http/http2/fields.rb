# frozen_string_literal: true

require "plait/protocols/http1/syntax"
require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # Heads as HTTP/2 has them (RFC 9113 §8.2, §8.3): names in lower case, what was the first line as fields that begin
      # with a colon, and nothing about the connection.
      module Fields
        CONNECTION = %w[connection host http2-settings keep-alive proxy-connection transfer-encoding upgrade].freeze
        NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
        VALUE = /\A(?:[^\x00\x0a\x0d \t](?:[^\x00\x0a\x0d]*[^\x00\x0a\x0d \t])?)?\z/n
        STATUS = /\A[1-9]\d\d\z/n
        private_constant :CONNECTION, :NAME, :VALUE, :STATUS

        module_function

        # @param method [String]
        # @param url [URL]
        # @param headers [Enumerable<Array(String, String)>] checked
        # @param target [String] where it is not the URL's
        # @return [Array<Array(String, String)>]
        # @raise [UnsupportedError] for CONNECT
        def of(method, url, headers, target: url.target)
          raise UnsupportedError, "CONNECT is not supported on HTTP/2: ask without http2: true" if method == "CONNECT"

          pairs = headers.map { |name, value| [name.downcase.b, value.b] }
          host = pairs.find { |name, _| name == "host" }&.last
          first = { ":method" => method, ":scheme" => url.scheme.to_s, ":authority" => host || url.origin.host_header,
                    ":path" => target }
          first.map { |name, value| [name, value.b] } + pairs.reject { |name, value| foreign?(name, value) }
        end

        # @param pairs [Array<Array(String, String)>] of an answer
        # @return [Array(Integer, Array<Array(String, String)>)] the status, and the rest
        # @raise [RemoteProtocolError]
        def split(pairs)
          status, *rest = pairs
          raise broken("a response that does not begin with :status") unless status&.first == ":status"
          raise broken("the status #{status.last.inspect}") unless STATUS.match?(status.last.b)

          [status.last.to_i, check(rest)]
        end

        # @param pairs [Array<Array(String, String)>] of an answer or its trailers, without :status
        # @return [Array<Array(String, String)>]
        # @raise [RemoteProtocolError]
        def check(pairs)
          pairs.each do |name, value|
            raise broken("a field named #{name.b.inspect[0, 80]}") if !NAME.match?(name.b) || CONNECTION.include?(name)
            raise broken("the value #{value.b.inspect[0, 80]} of #{name}") unless VALUE.match?(value.b)
          end
        end

        # @api private
        def foreign?(name, value) = CONNECTION.include?(name) || (name == "te" && !value.casecmp?("trailers"))

        # @api private
        def broken(what)
          RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :malformed, section: "RFC 9113 §8.1.1")
        end
      end
    end
  end
end
