# frozen_string_literal: true

require "net/http"
require "openssl"
require_relative "origin"

module Plait
  module Suites
    class Http < Suite
      # A real site as the target, asked a few requests at a time. Its answers may differ from one another: each must be a
      # success, and whole.
      class SiteTarget
        # Requests at once that a site bears which did not ask to be measured.
        POLITE_LIMIT = 8
        PORTS = (1..65_535)
        OPEN_SECONDS = 5
        READ_SECONDS = 15
        # The header that Net::HTTP sends by itself. Given explicitly, it leaves the body as it was sent.
        AS_SENT = { "Accept-Encoding" => "gzip;q=1.0,deflate;q=0.6,identity;q=0.3" }.freeze
        FAILURES = [SystemCallError, SocketError, Timeout::Error, OpenSSL::SSL::SSLError, IOError, Net::ProtocolError,
                    Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError].freeze

        # @return [Array<String>]
        attr_reader :notes

        # @raise [UsageError] unless it is an address of HTTP
        # @raise [UnreachableOrigin] when it does not answer with a success
        def initialize(url)
          @uri = parse(url)
          @notes = ["Asked #{@uri} over the network: its load and the network's are in the figures."]
          check
        end

        def embedded? = false

        # @return [Array<Integer>] limits worth looking at
        def limits(requests) = [[POLITE_LIMIT, requests].min]

        def patient?(_requests) = true

        def title(requests) = "HTTP: #{requests} requests of #{@uri}"

        # @return [String] see {Lab::Workload#work}
        def work = "waits: #{@uri}"

        # Nothing to start.
        def around = yield

        # @return [SiteTarget] every row asks the same
        def row(_label) = self

        def uri(_id) = @uri

        def path(_id) = @uri.request_uri

        # @raise [UnreachableOrigin] when it no longer answers with a success, or breaks off
        def verify(_id, response)
          raise UnreachableOrigin, "#{@uri} answered #{response.code} #{response.message}" unless response.code.start_with?("2")

          check_length(response.body.to_s.bytesize, response.content_length)
        end

        private

        def parse(url)
          uri = URI.parse(url)
          fault = fault_of(uri)
          raise UsageError, "#{url.inspect} #{fault}; give one like https://example.org/" if fault

          uri.path = "/" if uri.path.empty?
          uri
        rescue URI::InvalidURIError
          raise UsageError, "#{url.inspect} is no address; give one like https://example.org/"
        end

        # Ruby would take a port above the last one for another, and not send a password, but the report would tell it.
        def fault_of(uri)
          return "is no address of HTTP" if !uri.is_a?(URI::HTTP) || uri.hostname.to_s.empty?
          return "names a port that does not exist" unless PORTS.cover?(uri.port)

          "has a user or a password in it, which would not be sent" if uri.userinfo
        end

        # Once, before anything is measured.
        def check
          judge(ask)
        rescue *FAILURES => e
          raise UnreachableOrigin, "#{@uri} does not answer (#{e.message}): check the address and the network, or " \
                                   "leave it out to measure against the embedded origin"
        end

        def ask
          Net::HTTP.start(@uri.hostname, @uri.port, use_ssl: @uri.is_a?(URI::HTTPS), open_timeout: OPEN_SECONDS,
                                                    read_timeout: READ_SECONDS) { |http| http.request_get(@uri, AS_SENT) }
        end

        def judge(response)
          refuse(response) unless response.is_a?(Net::HTTPSuccess)
          check_length(response.body.to_s.bytesize, response.content_length)
          @encoded = response["Content-Encoding"]
        end

        def refuse(response)
          advice = response["Location"] ? "give #{response["Location"]} instead" : "give an address that answers 200"
          raise UnreachableOrigin, "#{@uri} answered #{response.code} #{response.message}: #{advice}"
        end

        # Net::HTTP takes a body that ends too early for a whole one. Where it decodes one, the lengths can't be compared; but
        # of one that ends too early nothing is left then.
        def check_length(bytes, announced)
          return if announced.nil? || bytes >= announced || (@encoded && bytes.positive?)

          raise UnreachableOrigin, "#{@uri} broke off after #{bytes} of the #{announced} bytes it had announced " \
                                   "(Content-Length); nothing can be measured on answers that are not whole"
        end
      end

      # The embedded origin as the target. It counts the requests of each row apart, which proves how many were really in flight.
      class EmbeddedTarget
        # An answer that is not the one to this request.
        class WrongAnswer < Error; end

        # Rows that take longer than this one after another are left out.
        PATIENCE_SECONDS = 60

        # The requests of one row: the same bytes as the other rows, under a name of its own.
        Row = Struct.new(:target, :number) do
          # @return [URI::HTTP] of a request
          def uri(id) = target.uri(path(id))

          # @return [String] what a request names when its connection is there
          def path(id) = "/bytes/#{target.size}?id=#{id}&row=#{number}"

          # @raise [WrongAnswer] unless the response is the one to this request
          def verify(id, response) = target.verify(path(id), response)
        end

        # @return [Numeric] seconds until an answer
        attr_reader :latency
        # @return [Integer] bytes of each body
        attr_reader :size
        # @return [Array<String>] filled with what the origin has counted, once it is over
        attr_reader :notes

        # @param latency [Numeric] seconds
        # @param size [Integer] bytes of each body
        def initialize(latency:, size:)
          @latency = latency
          @size = size
          @labels = []
          @notes = []
        end

        # @return [Boolean] whether its answers are simple enough for sockets by hand
        def embedded? = true

        # @return [Array<Integer>] limits worth looking at
        def limits(requests) = [10, requests.clamp(10, 100)].map { |limit| [limit, requests].min }.uniq

        # @return [Boolean] whether one request after another ends soon enough
        def patient?(requests) = requests * @latency <= PATIENCE_SECONDS

        # @return [String] why rows are left out
        def too_long(requests)
          format("One after another, %d requests would take %d s; these rows are left out unless --on names sequence.", requests,
                 requests * @latency)
        end

        def title(requests) = format("HTTP: %d requests of %d bytes, answered after %g ms", requests, @size, @latency * 1000)

        # @return [String] see {Lab::Workload#work}
        def work = format("waits: HTTP, %g ms", @latency * 1000)

        # Starts the origin, yields, stops it. The processes that measure inherit the limit of this one.
        def around
          DescriptorLimit.lift
          Origin.open(latency: @latency) do |origin|
            @origin = origin
            yield
          ensure
            note(origin.stats.fetch(:rows))
          end
        end

        # @param label [String] of the row
        def row(label)
          @labels << label
          Row.new(self, @labels.size - 1)
        end

        # @return [URI::HTTP] at the origin now running
        def uri(path) = @origin.uri(path)

        # @raise [WrongAnswer]
        def verify(path, response)
          return if response.code == "200" && response.body == Origin.body(path, @size)

          raise WrongAnswer, "#{path} was answered with #{response.code} and #{response.body.to_s.bytesize} bytes, " \
                             "which are not the #{@size} bytes that belong to it"
        end

        private

        def note(rows)
          peaks = @labels.each_with_index.filter_map do |label, number|
            peak = rows[number.to_s.to_sym]
            "#{label}: #{peak}" if peak
          end
          @notes.replace(peaks.empty? ? [] : ["In flight at once at most, as the origin counted: #{peaks.join("; ")}."])
        end
      end
    end
  end
end
