# frozen_string_literal: true

require "plait/protocols/http1"
require "plait/values/errors"

module Plait
  class Server
    module HTTP2
      # A request's fields, checked (RFC 9113 §8.2, §8.3), and written as a head of HTTP/1.1: that is what the core reads. What
      # could be two requests there, or a longer one, is refused here.
      class RequestHead
        # A request that its stream is reset for (§8.1.1).
        class Malformed < StandardError; end

        PSEUDO = %w[:method :scheme :authority :path].freeze
        CONNECTION = %w[connection keep-alive proxy-connection transfer-encoding upgrade http2-settings].freeze
        NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
        VALUE = /\A(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?\z/n
        # Written by us.
        OWN = %w[host content-length cookie].freeze

        class << self
          # @param fields [Array<Array(String, String)>] of trailers
          # @return [Array<Array(String, String)>]
          # @raise [Malformed]
          def check(fields) = fields.each { |name, value| check_field(name, value) }

          private

          def check_field(name, value)
            raise Malformed, "a field named #{name.inspect}" if !NAME.match?(name) || CONNECTION.include?(name)
            raise Malformed, "the value #{value.inspect} of #{name}" unless VALUE.match?(value)
            raise Malformed, "te: #{value}" if name == "te" && value != "trailers"
          end
        end

        # @return [String]
        attr_reader :request_method
        # @return [Integer, nil]
        attr_reader :length

        # @param fields [Array<Array(String, String)>] binary
        # @param last [Boolean] whether there is no body
        # @raise [Malformed]
        def initialize(fields, last)
          pseudo, @fields = fields.partition { |name, _| name.start_with?(":") }
          check_pseudo(pseudo, fields)
          RequestHead.check(@fields)
          @request_method, scheme, authority, @path = PSEUDO.map { |name| pseudo.assoc(name)&.last }
          @host = host_of(authority)
          raise Malformed, "no :method, :scheme or :path" unless connect? || [@request_method, scheme, @path].all?(/./n)
          raise Malformed, "the :path #{@path}" unless connect? || @path.start_with?("/", "*")

          @length = length_of(values("content-length"))
          @last = last
        end

        # @return [Boolean] whether it wants a tunnel
        def connect? = @request_method == "CONNECT"

        # @return [String] a head of HTTP/1.1
        # @raise [Malformed]
        def to_http1 = @to_http1 ||= write

        private

        def write
          others = @fields.reject { |name, _| OWN.include?(name) } # rubocop:disable Style/HashExcept -- it is an Array
          Protocols::HTTP1::Serializer.request(@request_method, path, [["host", @host], *others, *cookie, *framing])
        rescue LocalProtocolError => e
          raise Malformed, e.message
        end

        # What some clients send as it is; the serializer takes it escaped only.
        def path = @path.b.gsub(/[\x80-\xff]/n) { |byte| format("%%%02X", byte.ord) }

        def check_pseudo(pseudo, fields)
          names = pseudo.map(&:first)
          raise Malformed, "one of #{names.join(", ")} is unknown or there twice" if names.uniq != names || (names - PSEUDO).any?
          raise Malformed, "#{names.last} behind other fields" if fields.first(pseudo.size) != pseudo
        end

        # §8.3.1: who sends both sends the same.
        def host_of(authority)
          hosts = values("host")
          raise Malformed, "several hosts" if hosts.size > 1 || (authority && hosts.any? { |host| !host.casecmp?(authority) })
          raise Malformed, "a user in :authority" if authority&.include?("@")

          authority || hosts.first || ""
        end

        def length_of(lengths)
          return if lengths.empty?
          return lengths.first.to_i if lengths.uniq.size == 1 && lengths.first.match?(/\A\d{1,18}\z/)

          raise Malformed, "the Content-Length #{lengths.join(", ")}"
        end

        def values(name) = @fields.filter_map { |field, value| value if field == name }

        # They may come one by one (§8.2.3).
        def cookie
          crumbs = values("cookie")
          crumbs.empty? ? [] : [["cookie", crumbs.join("; ")]]
        end

        def framing
          return [["content-length", @length.to_s]] if @length

          @last ? [] : [%w[transfer-encoding chunked]]
        end
      end
    end
  end
end
