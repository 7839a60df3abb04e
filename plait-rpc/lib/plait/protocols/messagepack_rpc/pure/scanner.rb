# frozen_string_literal: true

require_relative "../skeleton"
require "plait/protocols/rulebook"
require_relative "formats"
require_relative "values"
require_relative "view"

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # The envelope of one message; twin of messagepack_rpc_scan.c.
        class Scanner
          KINDS = %i[request response notification].freeze
          # Where it begins in the message's data, and its bytes.
          Span = Struct.new(:at, :size)

          # @return [Symbol, nil] of KINDS
          attr_reader :kind
          # @return [Integer, nil]
          attr_reader :id
          # @return [Span, nil] the method's name, the packed error, the packed params or result
          attr_reader :method_span, :error_span, :value_span

          # @param limits [Limits]
          # @param threshold [Integer, nil] see Values
          def initialize(limits, threshold)
            @limits = limits
            @values = Values.new(limits, threshold)
            @stage = :array
            @grace = 0
          end

          # @return [Boolean] whether it goes on to the end of a message over a limit, once: see mprpc_excuse
          def excuse
            return false unless @grace.zero? && (@id || @kind == :notification)

            @grace = [at + removed, @limits.message].max
            @values.flatten
          end

          # @return [Integer] see Values
          def at = @values.at

          # @return [Integer] see Values
          def removed = @values.removed

          # @return [Values::Large, nil]
          def large = @values.large

          def clash? = @values.clash?

          # @return [Boolean] whether no byte of the message was read yet
          def untouched? = @stage == :array

          # @param buffer [String] binary
          # @param base [Integer] where the message begins in it
          # @return [Symbol] :more, :message or :large
          # @raise [Broken]
          def scan(buffer, base)
            limit = @limits.message + @grace - removed
            view = View.new(buffer, base, limit)
            result = :done
            result = send(@stage, view) while result == :done && go_on?(view)
            return result if result == :large
            return :message if @stage == :end && at <= view.size
            raise Broken.new(:message_limit, @limits.message) if buffer.bytesize - base >= limit || at > limit

            :more
          end

          # After :large. The data behind the string's header is replaced by the mark.
          #
          # @param number [Integer]
          # @return [String] the mark
          def take_out(number)
            after = large.at + Skeleton::MARK_SIZE
            @values.removed += at - after
            @values.at = after
            [0xd6, Skeleton::MARK_TYPE, number].pack("CcN")
          end

          # After `take_out`: what is missing of the string comes into the data again.
          def put_back(missing)
            @values.at += missing
            @values.removed -= missing
          end

          # The first bytes of the data are gone. From then on only the message's end is told.
          def drop(size)
            @values.threshold = nil
            @values.at -= size
            @values.removed += size
          end

          private

          # Without a byte only a large string can be done with, as the last one of its containers.
          def go_on?(view)
            return false if @stage == :end

            at < view.size || (%i[error value].include?(@stage) && @values.full?)
          end

          def broken(rule, place = at) = raise(Broken.new(rule, place + removed))

          # ---- each stage: an element of the envelope. :done, :more or :large

          def array(view)
            first = view.byte(at)
            broken(:not_array) unless Formats.array?(first)
            length = Formats::CONTAINERS.fetch(first, 0)
            return :more unless view.here?(at, 1 + length)

            @size = length.zero? ? first & 15 : view.number(at + 1, length)
            broken(:shape, 0) unless [3, 4].include?(@size)
            @values.at += 1 + length
            go_to(:kind_of_message)
          end

          def kind_of_message(view)
            integer(view, :kind) do |number, start|
              broken(:kind, start) if number > 2
              @kind = KINDS[number]
              broken_shape(start) unless @size == (@kind == :notification ? 3 : 4)
              go_to(@kind == :notification ? :method_name : :message_id)
            end
          end

          # The kind is not known before its shape fits.
          def broken_shape(start)
            @kind = nil
            broken(:shape, start)
          end

          def message_id(view)
            integer(view, :id) do |number|
              @id = number
              @kind == :request ? go_to(:method_name) : begin_error
            end
          end

          # @yieldparam number [Integer] not negative
          # @yieldparam start [Integer] where it began
          def integer(view, rule)
            start, first = at, view.byte(at)
            size = Formats::INTEGERS.fetch(first, 0)
            return :more unless view.here?(start, 1 + size)

            negative = first >= 0xd0 && size.positive? && view.byte(start + 1) > 127
            broken(rule) if negative || (size.zero? && first > 127)
            @values.at += 1 + size
            yield(size.zero? ? first : view.number(start + 1, size), start)
          end

          def method_name(view)
            first = view.byte(at)
            broken(:method) unless Formats::STRINGS.key?(first) || (first & 0xe0) == 0xa0
            size, header = @values.string(view)
            return :more unless size

            broken(:method_limit) if size > @limits.method_name && @grace.zero?
            @method_span = Span.new(at + header, size)
            @values.at += header + size
            begin_value
          end

          def begin_error
            @error_span = Span.new(at, 0)
            @values.begin
            go_to(:error)
          end

          def begin_value
            @value_span = Span.new(at, 0)
            @values.begin
            go_to(:value)
          end

          def error(view)
            result = @values.skip(view)
            return result unless result == :done

            @error_span.size = at - @error_span.at
            begin_value
          end

          def value(view)
            broken(:params) if @kind != :response && @values.depth.zero? && @grace.zero? && !Formats.array?(view.byte(at))
            result = @values.skip(view)
            return result unless result == :done

            @value_span.size = at - @value_span.at
            go_to(:end)
          end

          def go_to(stage)
            @stage = stage
            :done
          end
        end
      end
    end
  end
end
