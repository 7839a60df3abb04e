# frozen_string_literal: true

require_relative "frames"
require "plait/protocols/http1"
require "plait/values/errors"

begin
  require "http/2"
rescue LoadError => e
  raise unless e.path == "http/2"

  raise Plait::UnsupportedError, 'HTTP/2 needs the gem http-2: add `gem "http-2", "~> 1.1"` to the Gemfile'
end

require "plait/protocols/hpack/decompressor" # which needs it, too

module Plait
  class Server
    module HTTP2
      # Heads and trailers, compressed (RFC 7541), by the gem http-2. The rest of a server's side is our own: the gem's ends the
      # whole connection at a frame for a stream that it has reset, which may be on its way always (RFC 9113 §5.1), takes
      # nothing more once it has said GOAWAY, demands :authority, and keeps a stream for each PRIORITY.
      class Hpack
        # Times the size of a list of fields that the peer knows: a larger one is a bomb; one in between is refused with
        # a proper answer.
        MARGIN = 4

        # @param largest [Integer] bytes of a list of fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts them
        def initialize(largest)
          settings = ::HTTP2::Settings.new(settings_max_header_list_size: largest * MARGIN)
          @decompressor = Protocols::HPACK::Decompressor.new(settings)
          @decompressor.accept_invalid_headers! # they are ours to judge, stream by stream
          @compressor = ::HTTP2::Header::Compressor.new(::HTTP2::Settings.new)
        end

        # @param block [String] binary; it is consumed
        # @return [Array<Array(String, String)>] binary
        # @raise [Violation] after which no block can be read any more
        def decode(block)
          @decompressor.decode(block).map { |name, value| [name.b, value.b] }
        rescue ::HTTP2::Error::Error, NoMethodError, TypeError, ArgumentError, RangeError => e # as the gem meets what is broken
          # Its ProtocolError is for what was read and is not allowed: capitals in a name, or too much.
          code = e.instance_of?(::HTTP2::Error::ProtocolError) ? :protocol_error : :compression_error
          raise Violation.new(code, "a header block that can't be taken: #{e.message}", "§4.3")
        end

        # @param fields [Array<Array(String, String)>]
        # @return [String] binary
        def encode(fields) = @compressor.encode(fields)

        # @param size [Integer] the peer's SETTINGS_HEADER_TABLE_SIZE
        def limit_table(size) = @compressor.max_table_size = size
      end

      # The fields of one head while their frames come: HEADERS, and CONTINUATION as often as the peer likes, were it not for
      # these limits (CVE-2024-27316).
      class HeaderBlock
        # CONTINUATION frames.
        PARTS = 32

        # @return [Integer] of the stream
        attr_reader :id
        # @return [String] compressed
        attr_reader :bytes

        # @param last [Boolean] whether the stream ends with it
        # @param itself [Boolean] whether the stream is said to depend on itself
        # @param largest [Integer] bytes, compressed
        def initialize(id, bytes, last:, itself:, largest:)
          @id = id
          @bytes = "".b
          @last = last
          @itself = itself
          @largest = largest
          @parts = -1
          add(bytes)
        end

        def last? = @last

        def on_itself? = @itself

        # @raise [Violation]
        def add(bytes)
          @parts += 1
          @bytes << bytes
          return if @parts <= PARTS && @bytes.bytesize <= @largest

          raise Violation.new(:enhance_your_calm, "a header block of #{@bytes.bytesize} bytes in #{@parts + 1} frames", "§10.5.1")
        end
      end

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

        # §8.3.1: a peer that sends both sends the same.
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
      private_constant :Hpack, :HeaderBlock, :RequestHead
    end
  end
end
