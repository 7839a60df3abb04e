# frozen_string_literal: true

require_relative "../limits"
require_relative "../rules"
require_relative "../skeleton"
require "plait/protocols/rulebook"
require_relative "scanner"

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # The parser in Ruby alone; twin of NativeParser. See {MessagePackRPC::Parser}.
        class Parser
          # Memory for a large string that is reserved on the peer's word.
          RESERVED_AT_ONCE = 64 << 20
          PACKED_NIL = 0xc0

          # @return [String, nil] the large string that is being received: what has come of it
          attr_reader :body

          # @param limits [Limits]
          # @param large [Integer, nil] bytes from which on a string is told as large; nil: none
          # @raise [LocalProtocolError]
          def initialize(limits: Limits.new, large: 64 * 1024)
            unless large.nil? || (large.is_a?(Integer) && large.positive?)
              raise Rules.misuse("large: must be a number of bytes, at least 1, or nil")
            end

            @limits = limits
            @threshold = large
            reset
          end

          # As new.
          #
          # @return [self]
          def reset
            @buffer = "".b
            @at = 0
            @finished = false
            start
            self
          end

          # @param bytes [String]
          # @return [self]
          # @raise [LocalProtocolError] after finish
          def feed(bytes)
            raise TypeError, "bytes are a String, not #{bytes.class}" unless bytes.is_a?(String)
            raise Rules.misuse("bytes after finish") if @finished
            return self if bytes.empty?

            given = [missing, bytes.bytesize].min
            @body << bytes.byteslice(0, given).b if given.positive?
            keep(bytes.byteslice(given..)) if given < bytes.bytesize
            self
          end

          # The input is at its end.
          #
          # @return [self]
          def finish
            @finished = true
            self
          end

          # @return [Symbol, nil] the kind of the next event, or nil when more bytes are needed
          # @raise [RemoteProtocolError] from then on at each call
          def next_event
            raise Rules.error(*@broken, @limits) if @broken

            begin_next if @told
            return more if missing.positive?

            complete_body if @body
            tell(@scanner.scan(@buffer, @at))
          rescue Broken => e
            fail_with(e.rule, e.at)
          end

          # What is still to come of this message is not kept.
          #
          # @return [self]
          def discard
            return self if @told || @discarding || @broken || @scanner.untouched?

            @scanner.put_back(missing)
            discard_rest
          end

          # After {LimitExceeded}.
          #
          # @return [self, false] false: more than this message is lost; else it is not kept, and the next one follows
          def excuse = (@broken && Rules::ALL.fetch(@broken.first).limit && @scanner.excuse && discard_rest) || false

          # @return [Symbol, nil] :request, :response or :notification
          def kind = @scanner.kind

          # @return [Integer, nil]
          def id = @scanner.id

          # @return [String, nil] UTF-8 where it is that, else binary
          def method_name
            span = @scanner.method_span
            return if span.nil? || @discarding || span.at + span.size > [pending, @limits.message].min

            name = bytes_of(span).force_encoding(Encoding::UTF_8)
            -(name.valid_encoding? ? name : name.b)
          end

          # @return [String, Skeleton, nil] packed
          def params = (packed(@scanner.value_span) if tells? && kind != :response)

          # @return [String, Skeleton, nil] packed
          def result = (packed(@scanner.value_span) if tells? && kind == :response)

          # @return [String, Skeleton, nil] packed; nil also for a packed nil
          def error
            return unless tells? && kind == :response

            span = @scanner.error_span
            packed(span) unless @buffer.getbyte(@at + span.at) == PACKED_NIL
          end

          # @return [Integer] bytes of the message, so far if it was not told yet
          def bytesize = @scanner.removed + (@told ? @scanner.at : pending - missing)

          # @return [Boolean] whether nothing is here
          def idle? = @told ? pending == @scanner.at : @scanner.untouched? && pending.zero?

          # @return [Symbol, nil] :str or :bin, while a large string is being received
          def body_type
            return unless @body

            @scanner.large.text ? :str : :bin
          end

          # @return [Integer, nil] bytes of the large string that is being received, those to come counted
          def body_size = (@scanner.large.size if @body)

          # @return [Integer] bytes to come of a large string
          # @raise [LocalProtocolError] when more were appended
          def missing
            return 0 unless @body

            left = @scanner.large.size - @body.bytesize
            raise Rules.misuse("more was appended to the body than it misses") if left.negative?

            left
          end

          private

          def discard_rest
            @body = @bodies = @marks = @broken = nil
            @discarding = true
            drop
            self
          end

          def start
            @scanner = Scanner.new(@limits, @threshold)
            @body = @bodies = @marks = @broken = nil
            @told = @discarding = false
          end

          def begin_next
            @at += @scanner.at
            start
          end

          def pending = @buffer.bytesize - @at

          # A buffer of which little is in use is not kept.
          def keep(bytes)
            if @at.positive?
              @buffer = @buffer.byteslice(@at..)
              @at = 0
            end
            @buffer << bytes.b
          end

          def tell(result)
            case result
            when :large then take_out
            when :message
              @told = true
              @discarding ? :discarded : kind
            else
              drop if @discarding
              more
            end
          end

          def more
            if @scanner.untouched? && pending.zero?
              @buffer = "".b
              @at = 0
              return @finished ? :closed : nil
            end
            fail_with(:truncated, bytesize) if @finished
          end

          def fail_with(rule, offset)
            @broken = [rule, offset]
            raise Rules.error(rule, offset, @limits)
          end

          def take_out
            large = @scanner.large
            body = String.new(capacity: [large.size, RESERVED_AT_ONCE].min, encoding: Encoding::BINARY)
            body << @buffer.byteslice((@at + large.begins)..)
            (@marks ||= []) << large.at
            (@bodies ||= []) << body
            @buffer = @buffer.byteslice(0, @at + large.at) << @scanner.take_out(@bodies.size - 1)
            @body = body
            :large
          end

          def complete_body
            @body.force_encoding(@scanner.large.text ? Encoding::UTF_8 : Encoding::BINARY)
            @body = nil
          end

          def drop
            size = [@scanner.at, pending].min
            @scanner.drop(size)
            @at += size
          end

          def tells? = @told && !@discarding

          def bytes_of(span) = @buffer.byteslice(@at + span.at, span.size)

          def packed(span)
            marks = @marks.to_a.select { |mark| mark >= span.at && mark < span.at + span.size }.map { |mark| mark - span.at }
            bytes = bytes_of(span)
            marks.empty? ? bytes : Skeleton.new(bytes, @bodies, marks, @scanner.clash?)
          end
        end
      end
    end
  end
end
