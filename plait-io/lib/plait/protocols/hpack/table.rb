# frozen_string_literal: true

module Plait
  module Protocols
    # Compressed heads (RFC 7541).
    module HPACK
      # A header block that can't be read. Later blocks refer to it, so the connection is of no more use.
      class Error < StandardError; end

      # More fields than allowed.
      class TooLarge < Error; end

      # The fields that a block refers to by a number: the static ones, then the latest ones of earlier blocks.
      class Table
        # Appendix A; the first one has the number 1.
        STATIC = <<~FIELDS.split(/ \| |\n/).map { |field| [*field.split("=", 2), ""].first(2).each(&:freeze).freeze }.freeze
          :authority | :method=GET | :method=POST | :path=/ | :path=/index.html | :scheme=http | :scheme=https | :status=200
          :status=204 | :status=206 | :status=304 | :status=400 | :status=404 | :status=500 | accept-charset
          accept-encoding=gzip, deflate | accept-language | accept-ranges | accept | access-control-allow-origin | age | allow
          authorization | cache-control | content-disposition | content-encoding | content-language | content-length
          content-location | content-range | content-type | cookie | date | etag | expect | expires | from | host | if-match
          if-modified-since | if-none-match | if-range | if-unmodified-since | last-modified | link | location | max-forwards
          proxy-authenticate | proxy-authorization | range | referer | refresh | retry-after | server | set-cookie
          strict-transport-security | transfer-encoding | user-agent | vary | via | www-authenticate
        FIELDS
        LAST = STATIC.size
        # Bytes of a table, where its owner says nothing else (RFC 9113 §6.5.2).
        LIMIT = 4096
        # Bytes that a field counts beside its own (§4.1).
        OVERHEAD = 32

        # @return [Integer] bytes that it may hold
        attr_reader :limit

        def initialize
          @fields = [] # the latest is the last
          @size = 0
          @limit = LIMIT
        end

        # @param number [Integer] above 0
        def [](number) = number > LAST ? @fields[LAST - number] : STATIC[number - 1]

        def <<(field)
          @fields << field
          @size += cost(field)
          evict while @size > @limit
          self
        end

        def limit=(bytes)
          @limit = bytes
          evict while @size > @limit
        end

        private

        def cost(field) = field[0].bytesize + field[1].bytesize + OVERHEAD

        # @return [Array(String, String)] the field that has left
        def evict = @fields.shift.tap { |field| @size -= cost(field) }
      end
    end
  end
end
