# frozen_string_literal: true

require_relative "../../rulebook"
require_relative "../rules"
require_relative "chunked_body"
require_relative "head"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # The parser in Ruby alone; twin of NativeParser. See {HTTP1::ResponseParser}.
        class Parser
          # @return [Head, nil] the last :head event's
          attr_reader :head
          # @return [String, nil] the last event's, if it was :data
          attr_reader :data
          # @return [Array<Array(String, String)>, nil] the :trailers event's
          attr_reader :trailers

          # @raise [LocalProtocolError] after finish
          def feed(bytes)
            raise TypeError, "bytes are a String, not #{bytes.class}" unless bytes.is_a?(String)
            raise Rules.misuse("bytes after finish") if @finished

            if @at == @buffer.bytesize
              @buffer = bytes.b
            else
              @buffer = @buffer.byteslice(@at..) if @at.positive?
              @buffer << bytes.b
            end
            @at = 0
            self
          end

          # The input is at its end.
          #
          def finish
            @finished = true
            self
          end

          # @return [Symbol, nil] the kind of the next event, or nil when more bytes are needed
          # @raise [RemoteProtocolError] from then on at each call
          def next_event
            @data = nil
            raise Rules.error(*@broken, @limits) if @broken
            return :done if @state == :complete

            @state == :head ? next_in_head : next_in_body
          rescue Broken => e
            fail_with(e.rule, @before + e.at - @at)
          end

          # @return [Boolean] whether only a lenient reader takes the body: the connection has no next message
          def pardoned? = @body.is_a?(ChunkedBody) && @body.pardoned?

          # @return [String] bytes that were fed and belong to what follows the message
          def rest = @buffer.byteslice(@at..)

          private

          def prepare(limits)
            @limits = limits
            @buffer = "".b
            @at = 0
            @finished = false
            begin_head(Exchange.new(false, false, false, 0))
          end

          def begin_message(head, connect, upgrade)
            raise Rules.error(*@broken, @limits) if @broken
            raise Rules.misuse("start in the middle of a message: read on until :done") unless may_begin?
            if @state == :complete && @head.framing == :tunnel
              raise Rules.misuse("start in a tunnel: what follows is another protocol, see rest")
            end

            @head = @data = @trailers = nil
            begin_head(Exchange.new(head, connect, upgrade, 0))
            self
          end

          def may_begin? = @state == :complete || (@state == :head && @before.zero? && @reader.untouched?)

          def begin_head(exchange)
            @exchange = exchange
            @reader = HeadReader.new(exchange, @limits)
            @before = 0
            @state = :head
          end

          # @param at [Integer] of the buffer
          def consume_to(at)
            @before += at - @at
            @at = at
          end

          def fail_with(rule, offset)
            @broken = [rule, offset]
            raise Rules.error(rule, offset, @limits)
          end

          def next_in_head
            bytes = unconsumed
            head = begin
              @reader.read(bytes)
            rescue Broken => e
              fail_with(e.rule, @before + e.at)
            end
            return end_in_head(bytes.bytesize) unless head

            take_head(head)
            :head
          end

          def unconsumed = @at.zero? ? @buffer : @buffer.byteslice(@at..)

          def take_head(head)
            @head = head
            consume_to(@at + head.bytes.bytesize)
            if head.interim?
              @exchange.interims += 1
              @reader = HeadReader.new(@exchange, @limits)
            else
              @state = :body
              @body = body
            end
          end

          # A length over the limit is an error after the :head event.
          def body
            case head.framing
            when :length then length_body
            when :chunked then ChunkedBody.new(@limits)
            when :close then CloseBody.new(@limits.body)
            else EmptyBody.new
            end
          end

          def length_body
            too_long = @limits.body && head.content_length > @limits.body && head.content_length.positive?
            @broken = [:body_limit, @before] if too_long
            LengthBody.new(head.content_length)
          end

          # The end of the input where a head should come. After 1xx one must come.
          def end_in_head(size)
            return unless @finished

            fail_with(:truncated_head, @before + size) unless @reader.empty?(size) && @before.zero?
            :closed
          end

          def next_in_body
            kind, @data, at = @body.next(@buffer, @at)
            consume_to(at)
            case kind
            when :data then :data
            when :done then complete
            else end_in_body
            end
          end

          def end_in_body
            return unless @finished

            rule = @body.unfinished
            rule ? fail_with(rule, @before) : complete
          end

          def complete
            @state = :complete
            fields = @body.trailers
            return :done if fields.empty?

            @trailers = fields.map(&:to_a)
            :trailers
          end
        end

        # The request that a response belongs to: its kind, and how many 1xx responses it has had.
        Exchange = Struct.new(:head, :connect, :upgrade, :interims)
      end
    end
  end
end
