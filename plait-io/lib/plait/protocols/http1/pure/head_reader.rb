# frozen_string_literal: true

require_relative "../syntax"
require_relative "../../broken"
require_relative "field"
require_relative "framing"
require_relative "head"
require_relative "start_line"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # Reads one head, line by line; twin of http1_head.c. A line is looked at when it is there as a whole, and its
        # bytes before that only for what can't be in any line.
        class HeadReader
          BEGINNING = "HTTP/"
          CR = 13
          LF = 10

          # @param exchange [Exchange]
          # @param limits [Limits]
          def initialize(exchange, limits)
            @exchange = exchange
            @limits = limits
            @at = 0
            @line = 0
            @fields = []
          end

          # @param bytes [String] binary, always from the head's first byte
          # @return [Head, nil] nil when more bytes are needed
          # @raise [Broken]
          def read(bytes)
            largest = @limits.head
            window = bytes.bytesize > largest ? bytes.byteslice(0, largest) : bytes
            while (stop = find_line(window))
              head = take_line(window, stop)
              @at = @line = stop + 2
              return head if head
            end
            raise Broken.new(:head_limit, largest) if bytes.bytesize >= largest
          end

          # @return [Boolean] whether no byte of it was read yet
          def untouched? = @at.zero?

          # @param size [Integer] bytes that were given
          # @return [Boolean] whether nothing of a head was among them
          def empty?(size) = @start.nil? && size == @line

          private

          def find_line(window)
            control = window.index(Syntax::CONTROL, @at)
            check_start(window, control) unless @start
            @at = control || window.bytesize
            return unless control

            check_control(window, control)
            control if control + 1 < window.bytesize
          end

          def check_control(window, at)
            byte = window.getbyte(at)
            raise Broken.new(:bare_lf, at) if byte == LF
            raise Broken.new(:control, at) unless byte == CR
            raise Broken.new(:bare_cr, at) unless [LF, nil].include?(window.getbyte(at + 1))
          end

          # @param control [Integer, nil] where the line ends at the latest
          def check_start(window, control)
            longest = @line + @limits.start_line
            limited = window.bytesize > longest
            check_beginning(window, limited ? longest : window.bytesize) unless @exchange.request?
            raise Broken.new(:start_line_limit, longest) if limited && (control.nil? || control > longest)
          end

          # A peer that speaks something else is found out before it ends a line.
          def check_beginning(window, size)
            wrong = [size, BEGINNING.size].min.times.find { |at| window.getbyte(at) != BEGINNING.getbyte(at) }
            raise Broken.new(:not_http, wrong) if wrong
          end

          def take_line(window, stop)
            line = window.byteslice(@line, stop - @line)
            return start(line) unless @start
            return finish(window) if line.empty?

            take_field(line)
          end

          # One empty line before a request is skipped (RFC 9112 §2.2): old clients end a body with a CRLF too many.
          def start(line)
            return if @exchange.request? && @line.zero? && line.empty?

            @start = @exchange.request? ? StartLine.request(line, @line) : StartLine.response(line)
            @framing = Framing.new(@exchange, @start, @limits)
            nil
          end

          def take_field(line)
            folded = line.start_with?(" ", "\t")
            raise Broken.new(@fields.empty? ? :leading_space : :obs_fold, @line) if folded
            raise Broken.new(:headers_limit, @line) if @fields.size == @limits.headers

            field = Field.parse(line, @line)
            @framing.judge(field)
            @fields << field
            nil
          end

          def finish(window)
            @framing.judge_all(@line)
            Head.new(window.byteslice(0, @line + 2).freeze, @start, @fields, @framing)
          end
        end
      end
    end
  end
end
