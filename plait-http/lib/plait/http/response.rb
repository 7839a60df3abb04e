# frozen_string_literal: true

module Plait
  module HTTP
    # How a {Response} comes to be that no wire has received: of HTTP/2, of a test's stub, of another process. It needs
    # `assemble` of the class.
    module ResponseBuilding
      MINORS = { "1.0" => 0, "1.1" => 1, "2" => 2 }.freeze
      STATUSES = (100..999)
      private_constant :MINORS, :STATUSES

      # @param status [Integer]
      # @param headers [Headers, Hash, Array] names and values
      # @param body [String, nil]
      # @param version [String] "1.0", "1.1" or "2"
      # @param reason [String, nil]
      # @param url [String, nil]
      # @return [Response]
      # @raise [UsageError] for a value that no response can have
      def build(status:, headers: [], body: "", version: "1.1", reason: nil, url: nil)
        reason = reason.to_s
        check_status_line(status, version, reason)
        fields = Headers.from(headers)
        start = "HTTP/#{version} #{status} "
        head = "#{start}#{reason}\r\n".b << fields.to_s << "\r\n"
        response = assemble(head, status, MINORS.fetch(version), start.bytesize, reason.bytesize, fields.key?("content-encoding"))
        response.body = body
        response.url = url
        response
      end

      # Of another process.
      def _load(dumped)
        head, status, version, reason_size, encoded, rest = Marshal.load(dumped) # rubocop:disable Security/MarshalLoad -- Ruby's own hook
        restore(head, status, version, reason_size, encoded, rest)
      end

      # Of the head: without a body.
      # @param response [Response]
      # @return [Response]
      # @api private
      def copy(response)
        restore(response.head_bytes, response.status, response.version, response.reason.bytesize, response.encoded?,
                url: response.url, request: response.request, phases: response.phases, durations: response.durations,
                decoded: response.decoded?)
      end

      private

      def restore(head, status, version, reason_size, encoded, rest) # rubocop:disable Metrics/ParameterLists -- the parts of a head
        reason_at = [head.index("\r\n") - reason_size, 0].max
        response = assemble(head, status, MINORS.fetch(version), reason_at, reason_size, encoded)
        rest.each { |name, value| response.public_send(:"#{name}=", value) unless value.nil? }
        response
      end

      def check_status_line(status, version, reason)
        possible = status.is_a?(Integer) && STATUSES.cover?(status)
        raise UsageError, "a status is an Integer from 100 to 999, not #{status.inspect}" unless possible
        raise UsageError, "a version is #{MINORS.keys.join(", ")}, not #{version.inspect}" unless MINORS.key?(version)
        return unless Protocols::HTTP1::Syntax::CONTROL.match?(reason.b)

        raise UsageError, "#{reason.inspect} can't be a reason: it has a control byte"
      end
    end
    private_constant :ResponseBuilding

    # A body in lines.
    module Lines
      # @param response [#each_piece]
      # @yieldparam line [String] whole
      # @return [String] what comes behind the last end of a line
      def self.each(response, &block)
        rest = String.new
        response.each_piece do |piece|
          rest << piece
          rest = whole(rest, &block) if piece.include?("\n".b)
        end
        rest
      end

      def self.whole(text)
        rest = nil
        text.each_line("\n".b) { |line| line.end_with?("\n".b) ? yield(line) : rest = line }
        rest || String.new
      end
      private_class_method :whole
    end
    private_constant :Lines

    # The methods of every {Response}. Costly values, such as the fields of the head, are made on first use.
    module ResponseMethods
      LINE_END = /\r?\n/n
      CHARSET = /;\s*charset\s*=\s*["']?([^\s"';]+)/i
      # Names that servers use and Ruby doesn't know.
      ALIASES = { "utf8" => "UTF-8", "latin1" => "ISO-8859-1", "ascii" => "US-ASCII" }.freeze
      # Names by which Ruby finds an encoding of this process.
      OURS = %w[locale external filesystem internal].freeze
      private_constant :LINE_END, :CHARSET, :ALIASES, :OURS

      # @return [Request, nil] the request, the last one after redirects; nil for a response that was built
      def request
        given = given_request
        return given if given.is_a?(Request)

        self.request = given ? given.request : Request.new(:get, url) if given || url
      end

      # @return [Headers] frozen
      def headers = @headers ||= Headers.received(pairs).freeze

      # @param name [String, Symbol] in any case
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

        readable_text(body.to_s.dup)
      end

      # @param options [Hash] of JSON.parse
      # @return [Object]
      # @raise [JSON::ParserError]
      # @raise (see #text)
      def json(**options)
        require "json"
        JSON.parse(text, **options)
      rescue EncodingError => e
        raise JSON::ParserError, e.message
      end

      # @return [Timings]
      def timings
        send, first_byte, read = durations
        Timings.new(dns: phases&.resolve, connect: phases&.connect, tls: phases&.tls,
                    send: send, first_byte: first_byte, read: read)
      end

      # @return [Array<Response>] the redirects that led here, the first one first
      def redirects = @redirects || []

      # @api private
      attr_writer :redirects

      # @return [Boolean] whether the body was compressed on its way, and is given out as it was before: then Content-Encoding
      #   and Content-Length of {headers} describe the received bytes, not {body}
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

      # Writes the body as it comes. A compressed one is written as it was before.
      # @param to [String, Pathname, #write] the path of a file, which is made or overwritten; or what takes the pieces
      # @return [Integer] bytes
      # @raise [SystemCallError] of the file; one that is cut short stays as it is
      # @raise (see Client#request)
      # @example
      #   api.get("/big") { |response| response.raise_for_status!.save("big.tar") }
      def save(to)
        path = to.is_a?(String) || (defined?(::Pathname) && to.is_a?(::Pathname))
        raise UsageError, "save takes a path, or what has a write, not #{to.inspect}" unless path || to.respond_to?(:write)

        @source&.check
        return File.open(to, "wb") { |file| save(file) } if path

        bytes = 0
        copies = to.respond_to?(:to_io) # as a File or a Tempfile; an object of another kind may keep the String
        (@source && copies ? @source.method(:each_in_place) : method(:each_piece)).call do |piece|
          to.write(piece)
          bytes += piece.bytesize
        end
        bytes
      end

      # The body line by line, as it comes.
      # @param chomp [Boolean] without the end of the line
      # @yieldparam line [String] in the encoding of {#text}
      # @return [void]
      def each_line(chomp: false, &block)
        return enum_for(:each_line, chomp: chomp) unless block

        rest = Lines.each(self) { |line| yield(readable_text(chomp ? line.chomp : line)) }
        yield(readable_text(rest)) unless rest.empty?
      end

      # Gives up the rest of a body that is read piece by piece. A response of {Client#stream} needs it, unless its body is
      # read to the end.
      # @return [void]
      def close = @source&.finish

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

      # For a result of another process. A body that is still to be read does not travel, and the request does without its own.
      def _dump(_level)
        Marshal.dump([head_bytes, status, version, reason.bytesize, encoded?,
                      { body: body, url: url, phases: phases, trailers: trailers, durations: durations,
                        request: (request if given_request)&.without_body, redirects: @redirects, decoded: @decoded,
                        index: index }])
      end

      private

      def readable_text(text)
        text.force_encoding(encoding)
        text.valid_encoding? || charset ? text : text.force_encoding(Encoding::BINARY)
      end

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

        name = charset.downcase
        OURS.include?(name) ? Encoding::BINARY : Encoding.find(ALIASES.fetch(name, name))
      rescue ArgumentError # one that Ruby doesn't know
        Encoding::BINARY
      end
    end

    # Where the time of an exchange went, in seconds. The first three are nil on a connection that was there already; `dns`
    # also where there was no name to resolve, `tls` where nothing was encrypted.
    Timings = Struct.new(:dns, :connect, :tls, :send, :first_byte, :read, keyword_init: true) do
      # @return [Float]
      def total = to_a.compact.sum(0.0)
    end

    NativeHTTP.define_response(self) if Native.available?

    # The answer to a request, in C: plait-io/ext/plait_io/wire/rb_response.h. Its twin is PureResponse.
    class NativeResponse
      include ResponseMethods
      extend ResponseBuilding
    end

    # The twin of NativeResponse (plait-io/ext/plait_io/wire/rb_response.c).
    class PureResponse
      include ResponseMethods
      extend ResponseBuilding

      VERSIONS = ["1.0", "1.1", "2"].freeze
      private_constant :VERSIONS

      class << self
        private

        def assemble(head_bytes, status, minor, reason_at, reason_size, encoded) # rubocop:disable Metrics/ParameterLists -- as its twin
          reason = head_bytes.byteslice(reason_at, reason_size).force_encoding(Encoding::UTF_8)
          new(head_bytes, status, VERSIONS.fetch(minor), reason.valid_encoding? ? reason : reason.b, encoded)
        end
      end

      # @return [Integer]
      attr_reader :status
      # @return [String] "1.1"
      attr_reader :version
      # @return [String] may be empty
      attr_reader :reason
      # @return [String] the head as it was received, binary
      attr_reader :head_bytes
      # @return [String, nil] nil while it is still to be read
      attr_accessor :body
      # @return [String, nil] of the request
      attr_accessor :url
      # @return [Io::Connector::Phases, nil] of the connection, when it was made for this request
      attr_accessor :phases
      # @return [Request, nil] nil for a plain GET, which goes out without one
      # @api private
      attr_reader :given_request
      # @return [Integer, nil] which of the requests of a fan-out this one answers
      attr_accessor :index
      # @return [Array<Array(String, String)>]
      attr_accessor :trailers
      # @return [Array<Float>] seconds of sending, until the first byte, and of reading
      attr_accessor :durations

      def initialize(head_bytes, status, version, reason, encoded)
        @head_bytes = head_bytes
        @status = status
        @version = version
        @reason = reason
        @encoded = encoded
        @trailers = []
        @durations = [0.0, 0.0, 0.0]
      end

      # @param request [Request]
      # @api private
      def request=(request)
        @given_request = request
      end

      # @return [Boolean] whether there is a Content-Encoding
      def encoded? = @encoded

      # @return [Boolean] whether there is a Set-Cookie
      def sets_cookies? = @head_bytes.match?(/^set-cookie:/i)
    end
    private_constant :ResponseMethods, :NativeResponse, :PureResponse

    # An answer, with the methods of {ResponseMethods}.
    Response = Native.available? ? NativeResponse : PureResponse
  end
end
