# frozen_string_literal: true

require "plait/values/errors"
require_relative "headers"
require_relative "request"
require_relative "timings"

module Plait
  module HTTP
    # What every {Response} can do besides what its wire has filled in. What costs something (the fields of the head above
    # all) is made when it is first asked for.
    module ResponseMethods
      LINE_END = /\r?\n/n
      CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i
      # Names by which Ruby finds an encoding of this process.
      OURS = %w[locale external filesystem internal].freeze
      private_constant :LINE_END, :CHARSET, :OURS

      # @return [Request, nil] what this is the answer to, the last one after redirects; nil where nobody has asked
      def request
        given_request || (url && self.request = Request.new(:get, url))
      end

      # @return [Headers] frozen
      def headers
        @headers ||= Headers.received(pairs).freeze
      end

      # @param name [String, Symbol] whatever its case
      # @return [String, nil] see {Headers#[]}
      def [](name) = headers[name]

      # @return [Boolean] whether the status is 2xx
      def ok? = status.between?(200, 299)

      # @return [Boolean] whether the status is one that sends the client elsewhere, and says where
      def redirect? = [301, 302, 303, 307, 308].include?(status) && headers.key?("location")

      # @return [String, nil] "text/html"
      def content_type
        type = self["content-type"]
        type && type[/\A[^;]*/].strip.downcase
      end

      # @return [String, nil] as the server calls it
      def charset = self["content-type"]&.[](CHARSET, 1)

      # @return [String, nil] of the field Location
      def location = self["location"]

      # @return [Array<String>] the values of Set-Cookie
      def cookies = headers.get_all("set-cookie")

      # @return [String] the body in the encoding that the server named, else in UTF-8 where that is valid, else binary
      # @raise [UsageError] when it comes piece by piece, and so is not there
      def text
        raise UsageError, "the body of #{url} comes by each_piece: ask without a block to have it as a whole" if @source

        text = body.to_s.dup.force_encoding(encoding)
        text.valid_encoding? || charset ? text : text.force_encoding(Encoding::BINARY)
      end

      # @param options [Hash] of JSON.parse
      # @return [Object]
      # @raise [JSON::ParserError]
      # @raise (see #text)
      def json(**options)
        require "json"
        JSON.parse(text, **options)
      end

      # @return [Timings]
      def timings
        send, first_byte, read = durations
        Timings.new(dns: phases&.resolve, connect: phases&.connect, tls: phases&.tls,
                    send: send, first_byte: first_byte, read: read)
      end

      # @return [Array<Response>] those that led here, the first one first
      def redirects = @redirects || []

      # @api private
      attr_writer :redirects

      # @return [Boolean] whether the body was compressed on its way, and is given out as it was before: then Content-Encoding
      #   and Content-Length of {headers} tell of what came, not of {body}
      def decoded? = @decoded || false

      # @api private
      attr_writer :decoded

      # Where the body of a streamed response comes from.
      # @api private
      attr_writer :source

      # The body as it comes, when the response is streamed; otherwise all of it at once.
      # @yieldparam piece [String] binary
      # @return [void]
      def each_piece(&block)
        return enum_for(:each_piece) unless block
        return @source.each(&block) if @source

        yield body unless body.nil? || body.empty?
      end

      # @return [self]
      # @raise [HTTPError] unless the status is 2xx
      def raise_for_status!
        return self if ok?

        asked = "#{request&.method || "the request"} #{url}"
        raise HTTPError.new("#{asked}: the server answered #{status} #{reason}".rstrip, response: self)
      end

      # @return [String] the body
      def to_s = body.to_s

      # @return [String] without the body
      def inspect
        size = body ? "#{body.bytesize} bytes" : "body not read"
        "#<Plait::HTTP::Response #{status} #{reason}#{" of #{url}" if url}, #{size}>"
      end

      # For a result of another process. A body that is still to be read does not travel, and the request does without its
      # own.
      def _dump(_level)
        Marshal.dump([head_bytes, status, version, reason.bytesize, encoded?,
                      { body: body, url: url, phases: phases, trailers: trailers, durations: durations,
                        request: given_request&.without_body, redirects: @redirects, decoded: @decoded, index: index }])
      end

      private

      def pairs
        lines = head_bytes.split(LINE_END)
        lines.shift
        lines.map { |line| line.split(":", 2).map { |word| readable(word.strip) } }
      end

      def readable(bytes)
        text = bytes.force_encoding(Encoding::UTF_8)
        text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
      end

      def encoding
        return Encoding::UTF_8 unless charset

        OURS.include?(charset.downcase) ? Encoding::BINARY : Encoding.find(charset)
      rescue ArgumentError # one that Ruby doesn't know
        Encoding::BINARY
      end
    end
  end
end
