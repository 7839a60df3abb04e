# frozen_string_literal: true

require "plait/io/native"
require "plait/protocols/rulebook"
require_relative "codec"
require_relative "rules"

module Plait
  module Protocols
    module MessagePackRPC
      # The parser without the extension: finds the end of a message, which the Unpacker of the gem msgpack does not tell, and
      # leaves the values to the gem. Large strings stay in the message, so there is no event `:large`, see {Parser}.
      class PureParser
        KINDS = %i[request response notification].freeze
        NEVER_USED = 0xc1
        # Bytes of the length behind the first byte.
        LENGTHS = { 0xc4 => 1, 0xc5 => 2, 0xc6 => 4, 0xd9 => 1, 0xda => 2, 0xdb => 4, 0xc7 => 1, 0xc8 => 2, 0xc9 => 4,
                    0xdc => 2, 0xdd => 4, 0xde => 2, 0xdf => 4 }.freeze
        NUMBERS = { 1 => "C", 2 => "n", 4 => "N" }.freeze
        FIXED = { 0xca => 5, 0xcb => 9, 0xcc => 2, 0xcd => 3, 0xce => 5, 0xcf => 9, 0xd0 => 2, 0xd1 => 3, 0xd2 => 5, 0xd3 => 9,
                  0xd4 => 3, 0xd5 => 4, 0xd6 => 6, 0xd7 => 10, 0xd8 => 18 }.freeze
        # Bytes of a value, by its first byte; nil: a length follows.
        SIZES = Array.new(256) do |first|
          case first
          when 0x00..0x7f, 0xc0, 0xc2, 0xc3, 0xe0..0xff then 1
          when 0xa0..0xbf then 1 + (first & 31)
          else FIXED[first]
          end
        end.freeze

        # The elements of an envelope, by kind.
        ELEMENTS = { nil => [:kind], request: %i[kind id method_name params], response: %i[kind id error result],
                     notification: %i[kind method_name params] }.freeze
        PACKED_NIL = "\xC0".b.freeze

        # @return [Symbol, nil] :request, :response or :notification
        attr_reader :kind
        attr_reader :id
        # @return [String, nil] UTF-8 where it is that, else binary
        attr_reader :method_name
        # @return [String, nil] packed; the error is nil where the peer has sent nil
        attr_reader :params, :error, :result

        # @param large [Object] for the parser in C
        def initialize(limits: Limits.new, large: nil) # rubocop:disable Lint/UnusedMethodArgument
          @limits = limits
          @codec = Codec.new
          reset
        end

        # @return [self] as new
        def reset
          @buffer = "".b
          @at = 0
          @finished = false
          start
        end

        # @raise [LocalProtocolError] after finish
        def feed(bytes)
          raise TypeError, "bytes are a String, not #{bytes.class}" unless bytes.is_a?(String)
          raise Rules.misuse("bytes after finish") if @finished

          @buffer << bytes.b
          self
        end

        # The input is at its end.
        def finish = tap { @finished = true }

        # @return [Symbol, nil] the next event; nil: more bytes are needed
        # @raise [RemoteProtocolError] from then on at each call
        def next_event
          raise Rules.error(*@broken, @limits) if @broken

          start if @reported
          whole? ? report : more
        rescue Broken => e
          @broken = [e.rule, e.at]
          raise Rules.error(*@broken, @limits)
        end

        # After {LimitExceeded}: drops the rest of the message, and goes on with the next one.
        # @return [self, false] false: the end of the message is unknown
        def excuse
          return false unless @broken && Rules::ALL.fetch(@broken.first).limit && !@discarding && (@id || @kind == :notification)

          @broken = nil
          @discarding = true
          @most = @limits.message + [place, @limits.message].max
          self
        end

        # @return [Integer] bytes of the message, so far
        def bytesize = @removed + (@reported ? @at : @buffer.bytesize)

        # @return [Boolean] whether no byte of a message is here
        def idle? = @reported ? @at == @buffer.bytesize : @buffer.empty? && @removed.zero?

        private

        def start
          @buffer = @buffer.byteslice(@at..)
          @at = @begins = @removed = @elements = @taken = 0
          @most = @limits.message
          @size = nil # of the envelope
          @levels = [1] # values that each open container misses
          @kind = @id = @method_name = @params = @error = @result = @broken = nil
          @reported = @discarding = false
          self
        end

        def report
          @reported = true
          @discarding ? :discarded : @kind
        end

        def more
          raise Broken.new(:message_limit, @most) if bytesize >= @most
          raise Broken.new(:truncated, bytesize) if @finished && !idle?

          :closed if @finished
        end

        def whole?
          return false unless @size || read_header

          while @taken < @size
            return false unless skip_value

            take_element
          end
          true
        end

        def read_header
          first = @buffer.getbyte(0) or return
          raise Broken.new(:not_array, 0) unless array?(first)

          length = LENGTHS.fetch(first, 0)
          return if @buffer.bytesize < 1 + length

          @size = length.zero? ? first & 15 : number(1, length)
          raise Broken.new(:shape, 0) unless @size.between?(3, 4)

          @at = @begins = 1 + length
        end

        def array?(first) = first.between?(0x90, 0x9f) || first.between?(0xdc, 0xdd)

        # ---- the elements of the envelope

        def take_element
          name = @taken.zero? ? :kind : ELEMENTS.fetch(@kind)[@taken]
          send(:"take_#{name}", @buffer.byteslice(@begins...@at)) unless @discarding
          @taken += 1
          @begins = @at
          @levels = [1]
        end

        def take_kind(packed)
          number = integer(packed, :kind)
          raise Broken.new(:kind, @begins) if number > 2
          raise Broken.new(:shape, @begins) unless ELEMENTS.fetch(KINDS[number]).size == @size

          @kind = KINDS[number]
        end

        def take_id(packed) = @id = integer(packed, :id)

        def integer(packed, rule)
          number = @codec.unpack(packed)
          number.is_a?(Integer) && number >= 0 ? number : raise(Broken.new(rule, @begins))
        end

        def take_method_name(packed)
          name = @codec.unpack(packed)
          raise Broken.new(:method, @begins) unless name.is_a?(String)

          name.force_encoding(Encoding::UTF_8)
          @method_name = -(name.valid_encoding? ? name : name.b)
          raise Broken.new(:method_limit, @begins) if name.bytesize > @limits.method_name
        end

        def take_params(packed) = array?(packed.getbyte(0)) ? @params = packed : raise(Broken.new(:params, @begins))

        def take_error(packed) = @error = (packed unless packed == PACKED_NIL)

        def take_result(packed) = @result = packed

        # ---- where values end

        # @return [Boolean] whether all of the value is here; else the next call goes on
        def skip_value
          until @levels.empty?
            next @levels.pop if @levels.last.zero?
            return false if @at >= @buffer.bytesize || !pass(@buffer.getbyte(@at))

            raise Broken.new(:message_limit, @most) if place > @most
          end
          @at <= @buffer.bytesize
        ensure
          drop if @discarding
        end

        # @return [Boolean] false: more bytes are needed
        def pass(first)
          raise Broken.new(:never_used, place) if first == NEVER_USED
          return skip(SIZES[first]) if SIZES[first]
          return enter(first & 15, first < 0x90, 1) if first < 0xa0

          length = LENGTHS.fetch(first)
          @at + 1 + length <= @buffer.bytesize && pass_long(first, number(@at + 1, length), 1 + length)
        end

        def pass_long(first, count, header)
          return enter(count, first > 0xdd, header) if first > 0xdb

          skip(header + count + (first.between?(0xc7, 0xc9) ? 1 : 0))
        end

        def number(at, length) = @buffer.byteslice(at, length).unpack1(NUMBERS.fetch(length))

        def skip(size)
          @at += size
          @levels[-1] -= 1
          true
        end

        def enter(count, map, header)
          count *= 2 if map
          check_container(count) unless @discarding
          skip(header)
          @levels.push(count)
          true
        end

        def check_container(count)
          raise Broken.new(:nesting_limit, place) if @levels.size > @limits.nesting
          raise Broken.new(:elements_limit, place) if (@elements += count) > @limits.elements
        end

        def place = @at + @removed

        def drop
          size = [@at, @buffer.bytesize].min
          @buffer = @buffer.byteslice(size..)
          @at -= size
          @begins = 0
          @removed += size
        end
      end

      # Bytes in, messages out, for either side of a connection. `Parser.new(limits: Limits.new, large: 64 * 1024)`.
      #
      # `feed` keeps bytes, `finish` ends the input, and `next_event` returns the next event:
      #
      # - `:request` (see `id`, `method_name`, `params`), `:notification` (`method_name`, `params`), `:response` (`id`,
      #   `error`, `result`): a whole message. `params`, `error` and `result` are packed, for {Codec#unpack}; they are there
      #   until the next `next_event`. `error` is nil where the peer has sent nil.
      # - `:large`: a part of a str or bin of at least `large` bytes is here. `kind` and `id` are known, so that the caller can
      #   `discard` the message. Bytes go straight into `body`, the final String: by `feed`, or appended, up to `missing` of them.
      # - `:discarded`: the end of a message that was discarded, or excused.
      # - `:closed`: the input ended between two messages.
      # - nil: more bytes are needed.
      #
      # It raises {RemoteProtocolError}, {LimitExceeded} or {TruncatedError}, from then on at each call until `reset`. `excuse`
      # skips a message over a limit, if its id and its end are known. The events do not depend on how the bytes are cut.
      Parser = Native.available? ? NativeParser : PureParser
    end
  end
end
