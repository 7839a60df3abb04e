# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "../response"
require_relative "../timeouts"

module Plait
  module HTTP
    module HTTP2
      # Heads as HTTP/2 has them (RFC 9113 §8.2, §8.3): names in lower case, the first line as fields that begin with a colon,
      # and no field about the connection.
      module Fields
        CONNECTION = %w[connection host http2-settings keep-alive proxy-connection transfer-encoding upgrade].freeze
        NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
        VALUE = /\A(?:[^\x00\x0a\x0d \t](?:[^\x00\x0a\x0d]*[^\x00\x0a\x0d \t])?)?\z/n
        STATUS = /\A[1-9]\d\d\z/n
        private_constant :CONNECTION, :NAME, :VALUE, :STATUS

        module_function

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

        def foreign?(name, value) = CONNECTION.include?(name) || (name == "te" && !value.casecmp?("trailers"))

        def broken(what)
          RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :malformed, section: "RFC 9113 §8.1.1")
        end
      end

      # One answer, frame by frame, checked (RFC 9113 §8.1): one that is malformed, larger than allowed or shorter than announced
      # is an error.
      class Answer
        # @return [Integer, nil] nil until the head has come
        attr_reader :status
        # @return [Array<Array(String, String)>]
        attr_reader :fields
        # @return [Array<Array(String, String)>]
        attr_reader :trailers
        # @return [String] binary: the part of the body that has come and was not taken
        attr_reader :body

        # @param bodiless [Boolean] whether it is one to HEAD
        def initialize(bodiless, limits)
          @bodiless = bodiless
          @limits = limits
          @trailers = []
          @body = String.new(encoding: Encoding::BINARY)
          @received = @interim = 0
        end

        # @return [Boolean] whether it has ended
        def complete? = @complete || false

        # @param pairs [Array<Array(String, String)>]
        # @raise [RemoteProtocolError, LimitExceeded]
        def head(pairs)
          check_size(pairs)
          return @trailers = Fields.check(pairs) if @status

          status, fields = Fields.split(pairs)
          return interim(status) if status < 200

          @fields = fields
          @length = length_of(fields)
          @status = status
        end

        # @raise [RemoteProtocolError, LimitExceeded]
        def data(bytes)
          raise Fields.broken("a body before its head") unless @status
          raise Fields.broken("a body where there can be none (to HEAD, or with status #{@status})") if empty? && !bytes.empty?

          @received += bytes.bytesize
          raise Fields.broken("more than Content-Length bytes") if @length && @received > @length
          raise limit(:body, "a body") if @limits.body && @received > @limits.body

          @body << bytes
        end

        # At the end of the stream.
        # @raise [TruncatedError, RemoteProtocolError]
        def finish
          raise Fields.broken("a stream that ends before its head") unless @status
          return @complete = true if @length.nil? || empty? || @received == @length

          raise TruncatedError.new("the body ended after #{@received} of #{@length} bytes",
                                   rule: :truncated_length, section: "RFC 9113 §8.1.1")
        end

        # @return [String] the part of the body that has come; it belongs to the caller
        def take = @body.tap { @body = String.new(encoding: Encoding::BINARY) }

        private

        # RFC 9110 §6.4.1
        def empty? = @bodiless || [204, 304].include?(@status)

        def interim(status)
          raise Fields.broken("101, which HTTP/2 does not have") if status == 101

          @interim += 1
          raise limit(:interim, "more 1xx responses") if @interim > @limits.interim
        end

        def check_size(pairs)
          raise limit(:headers, "more fields") if pairs.size > @limits.headers
          raise limit(:head, "a head") if pairs.sum { |name, value| name.bytesize + value.bytesize + 4 } > @limits.head
        end

        def length_of(fields)
          lengths = fields.filter_map { |name, value| value if name == "content-length" }.uniq
          return if lengths.empty?
          return lengths.first.to_i if lengths.size == 1 && lengths.first.match?(/\A\d+\z/)

          raise Fields.broken("the Content-Length #{lengths.join(", ")}")
        end

        def limit(name, what)
          maximum = @limits.public_send(name)
          LimitExceeded.new("#{what} over the limit of #{maximum}: raise it with limits: {#{name}: …} if that is expected",
                            limit: name, maximum: maximum, rule: :"#{name}_limit")
        end
      end
      private_constant :Answer

      # One request on its way and the answer to it: its time limits, and its error.
      class Call
        include WireComplaints

        # Phases in which it has no stream.
        UNSENT = %i[greeting place].freeze
        # Phases in which a frame of the peer lets it go on sending.
        SENDING = %i[greeting send].freeze
        private_constant :UNSENT, :SENDING

        # @return [Io::Endpoint, String, nil]
        attr_reader :endpoint
        attr_reader :answer
        # @return [ConditionVariable] signalled when something has changed for it
        attr_reader :changed
        # @return [Symbol] :greeting (it waits for the peer's settings), :place (for a stream), :send, :first_byte or :read
        attr_reader :phase
        # @return [Boolean] whether the body is taken while it comes
        attr_reader :streamed
        # @return [Object, nil] the gem's stream, once there is one
        attr_accessor :stream
        # @return [Integer] bytes taken without a WINDOW_UPDATE so far
        attr_accessor :untold

        # @param name [String] for messages: "GET https://…"
        # @param endpoint [Io::Endpoint, String, nil]
        # @param deadline [Float, nil] monotonic seconds
        def initialize(name, answer, endpoint:, timeouts: nil, deadline: nil, streamed: false)
          @name = name
          @answer = answer
          @endpoint = endpoint
          @timeouts = timeouts
          @streamed = streamed
          @changed = ConditionVariable.new
          @started = @moved = Deadline.now
          @ends = [deadline, timeouts&.total && (@started + timeouts.total)].compact.min
          @phase = :place
          @untold = 0
        end

        # @!group Events

        def await_greeting = enter(:greeting)

        def await_place = enter(:place)

        def opened = enter(:send)

        def sent
          @sent_at = Deadline.now
          enter(@head_at ? :read : :first_byte)
        end

        # Something of it went out or came in.
        def move = @moved = Deadline.now

        def received
          move
          @head_at ||= @moved if @answer.status
          @phase = :read if @phase == :first_byte && @head_at
          @done_at = @moved if @answer.complete?
        end

        def fail(error) = @error ||= error

        # @!group State

        # @return [Boolean] whether it has a stream, and something of it was sent
        def sent? = !UNSENT.include?(@phase)

        # @return [Boolean] whether it has something to send
        def sending? = SENDING.include?(@phase)

        # @return [Boolean] whether nothing more will come
        def over? = !@error.nil? || @answer.complete?

        # @raise [Error]
        def check! = @error && raise(@error)

        # @raise [ReadTimeout, WriteTimeout, PoolTimeout]
        def check_time! = late? && raise(too_late)

        # @return [Float, nil] seconds that it may wait from now on
        def patience
          at = limit
          at && [at - Deadline.now, 0.0].max
        end

        # @return [Response] without its body
        def response
          Response.build(status: @answer.status, headers: @answer.fields, body: nil, version: "2")
        end

        # @return [Array<Float>] seconds of sending, until the head came, and of reading
        def durations
          sent_at = @sent_at || @head_at
          [sent_at - @started, [@head_at - sent_at, 0.0].max, (@done_at || Deadline.now) - @head_at]
        end

        def closed(message, retry_safe: nil)
          ConnectionClosed.new("#{@name}: #{message}", endpoint: @endpoint, retry_safe: retry_safe.nil? ? !sent? : retry_safe)
        end

        def inspect = "#<#{self.class} #{@name} #{@phase}>"

        # @return [RemoteProtocolError] that says whose it is
        def blame(error) = named(error)

        private

        def enter(phase)
          move
          @phase = phase
        end

        def late?
          at = limit
          !at.nil? && at <= Deadline.now
        end

        def limit = [phase_limit, @ends].compact.min

        def phase_limit
          seconds =
            case @phase
            when :send then @timeouts&.write
            when :read then @timeouts&.read
            when :greeting, :first_byte then @timeouts&.first_byte
            end
          seconds && (@moved + seconds)
        end

        def too_late
          return late(@phase, @timeouts, !@ends.nil? && Deadline.now >= @ends) unless @phase == :place

          PoolTimeout.new("#{peer} has no stream free for #{@name}: it allows no more at once", endpoint: @endpoint)
        end
      end
    end
  end
end
