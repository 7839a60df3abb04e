# frozen_string_literal: true

require_relative "violation"
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
        # Times the size of a list of fields that is told to the peer: a larger one is a bomb; one in between is refused with
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
        # @return [void]
        def limit_table(size) = @compressor.max_table_size = size
      end
    end
  end
end
