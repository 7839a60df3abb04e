# frozen_string_literal: true

require "plait/protocols/http2/frames"

module Plait
  module HTTP
    module HTTP2
      # A request's fields (RFC 9113 §8.3.1): the first line as fields that begin with a colon, names in lower case, and no field
      # about the connection.
      module RequestFields
        OMITTED = [*Protocols::HTTP2::Fields::CONNECTION, "host"].freeze

        module_function

        # @param headers [Enumerable<Array(String, String)>] checked
        # @param authority [String] where no Host is among them
        # @raise [UnsupportedError] for CONNECT
        def of(method, scheme, authority, target, headers)
          raise UnsupportedError, "CONNECT is not supported on HTTP/2: ask without http2: true" if method == "CONNECT"

          host, rest = split(headers)
          compose(method, scheme, host || authority, target, rest)
        end

        def compose(method, scheme, authority, target, rest)
          [[":method", method], [":scheme", scheme], [":authority", authority], [":path", target], *rest]
        end

        # @return [Array(String, Array<Array(String, String)>)] the Host, or nil, and the fields to send
        def split(headers)
          pairs = headers.map { |name, value| [name.downcase.b, value.b] }
          [pairs.assoc("host")&.last, pairs.reject { |name, value| omitted?(name, value) }]
        end

        def omitted?(name, value) = OMITTED.include?(name) || (name == "te" && !value.casecmp?("trailers"))
      end

      # One answer, frame by frame, checked (RFC 9113 §8.1): one that is malformed, larger than allowed or shorter than announced
      # is an error.
      class Answer
        STATUS = /\A[1-9]\d\d\z/n

        # @return [Integer, nil] nil until the head has come
        attr_reader :status
        attr_reader :fields, :trailers
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

        # @param last [Boolean] whether the stream ends with it
        # @raise [RemoteProtocolError, LimitExceeded]
        def head(pairs, last)
          check_size(pairs)
          return take_trailers(pairs, last) if @status

          first, *fields = pairs
          status = status_of(*first)
          check(fields)
          status < 200 ? interim(status) : begin_with(status, fields)
        end

        # @raise [RemoteProtocolError, LimitExceeded]
        def data(bytes)
          raise broken("a body before its head") unless @status
          raise broken("a body where there can be none (to HEAD, or with status #{@status})") if empty? && !bytes.empty?

          @received += bytes.bytesize
          raise broken("more than Content-Length bytes") if @length && @received > @length
          raise limit(:body, "a body") if @limits.body && @received > @limits.body

          @body << bytes
        end

        # At the end of the stream.
        # @raise [TruncatedError, RemoteProtocolError]
        def finish
          raise broken("a stream that ends before its head") unless @status
          return @complete = true if @length.nil? || empty? || @received == @length

          raise TruncatedError.new("the body ended after #{@received} of #{@length} bytes",
                                   rule: :truncated_length, section: "RFC 9113 §8.1.1")
        end

        # @return [String] the part of the body that has come; it belongs to the caller
        def take = @body.tap { @body = String.new(encoding: Encoding::BINARY) }

        private

        def begin_with(status, fields)
          @length = length_of(fields)
          @fields = fields
          @status = status
        end

        def take_trailers(pairs, last)
          raise broken("trailers that do not end the stream") unless last

          @trailers = check(pairs)
        end

        def status_of(name = nil, value = nil)
          raise broken("a response that does not begin with :status") unless name == ":status"

          STATUS.match?(value) ? value.to_i : raise(broken("the status #{value.inspect}"))
        end

        def check(fields)
          fault = Protocols::HTTP2::Fields.fault(fields, Protocols::HTTP2::Fields::LENIENT)
          fault ? raise(broken(fault)) : fields
        end

        def broken(what) = RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :malformed, section: "RFC 9113 §8.1.1")

        # RFC 9110 §6.4.1
        def empty? = @bodiless || [204, 304].include?(@status)

        def interim(status)
          raise broken("101, which HTTP/2 does not have") if status == 101

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

          raise broken("the Content-Length #{lengths.join(", ")}")
        end

        def limit(name, what)
          maximum = @limits.public_send(name)
          LimitExceeded.new("#{what} over the limit of #{maximum}: raise it with limits: {#{name}: …} if that is expected",
                            limit: name, maximum: maximum, rule: :"#{name}_limit")
        end
      end

      # One request on its way and the answer to it: its time limits, and its error.
      class Call
        include WireComplaints

        # Phases in which it has no stream.
        UNSENT = %i[greeting place].freeze
        # Phases in which a frame of the peer lets it go on sending.
        SENDING = %i[greeting send].freeze
        # The peer's error => the advice, and whether nothing was done (RFC 9113 §8.7).
        REFUSALS = { refused_stream: [": nothing of it was done", true],
                     http_1_1_required: [": ask without http2: true", true] }.freeze

        attr_reader :endpoint, :answer
        # @return [ConditionVariable] signalled when something has changed for it
        attr_reader :changed
        # @return [Symbol] :greeting (it waits for the peer's settings), :place (for a stream), :send, :first_byte or :read
        attr_reader :phase
        # @return [Boolean] whether the body is taken while it comes
        attr_reader :streamed
        # @return [Object, nil] its stream, once there is one
        attr_accessor :stream

        # @param fields [Array<Array(String, String)>] see {RequestFields}
        # @param deadline [Float, nil] monotonic seconds
        def initialize(fields, answer, endpoint:, timeouts: nil, deadline: nil, streamed: false)
          @fields = fields
          @answer = answer
          @endpoint = endpoint
          @timeouts = timeouts
          @streamed = streamed
          @changed = ConditionVariable.new
          @started = @moved = Deadline.now
          @ends = timeouts ? timeouts.ends(deadline, @started) : deadline
          @phase = :place
        end

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

        # @return [String] for messages: "GET https://…"
        def name = "#{@fields[0][1]} #{@fields[1][1]}://#{@fields[2][1]}#{@fields[3][1]}"

        # @return [Boolean] whether it has a stream, and something of it was sent
        def sent? = !UNSENT.include?(@phase)

        # @return [Boolean] whether it has something to send
        def sending? = SENDING.include?(@phase)

        # @return [Boolean] whether nothing more will come
        def over? = !@error.nil? || @answer.complete?

        def check! = @error && raise(@error)

        def check_time! = late? && raise(too_late)

        # @return [Float, nil] seconds that it may wait from now on
        def patience
          at = limit
          at && [at - Deadline.now, 0.0].max
        end

        # @return [Response] without its body
        def response = Response.build(status: @answer.status, headers: Headers.received(@answer.fields), body: nil, version: "2")

        # @return [Array<Float>] seconds of sending, until the head came, and of reading
        def durations
          sent_at = @sent_at || @head_at
          [sent_at - @started, [@head_at - sent_at, 0.0].max, (@done_at || Deadline.now) - @head_at]
        end

        def closed(message, retry_safe: nil)
          ConnectionClosed.new("#{name}: #{message}", endpoint: @endpoint, retry_safe: retry_safe.nil? ? !sent? : retry_safe)
        end

        # @param code [Symbol] by which the peer has reset it
        def turned_away(code)
          advice, safe = REFUSALS[code]
          closed("the peer has reset it (#{code.upcase})#{advice}", retry_safe: safe || false)
        end

        def inspect = "#<#{self.class} #{name} #{@phase}>"

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

          PoolTimeout.new("#{peer} has no stream free for #{name}: it allows no more at once", endpoint: @endpoint)
        end
      end
    end
  end
end
