# frozen_string_literal: true

require_relative "../../rulebook"
require_relative "../syntax"
require_relative "framing"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # A response's head; twin of NativeHead. Its strings are UTF-8 where they are that, else binary.
        class Head
          include Enumerable

          # @return [String] as it came, frozen and binary
          attr_reader :bytes

          def initialize(bytes, start, fields, framing)
            @bytes = bytes
            @start = start
            @fields = fields
            @framing = framing
          end

          # @return [String] "1.0" or "1.1"
          def version = "1.#{@start.minor}"

          def status = @start.status

          # @return [String] may be empty
          def reason = Text.of(@start.reason)

          # @return [Symbol] how the body's end is found: :none, :length, :chunked, :close or :tunnel
          def framing = @framing.kind

          # @return [Integer, nil] also of a response without a body (to HEAD)
          def content_length = @framing.content_length

          # @return [Boolean] whether the connection can be used again after this message
          def persistent? = @framing.persistent?

          # @return [Integer, nil] seconds for which a peer keeps an idle connection
          def kept_for = @framing.kept_for

          # @return [Integer, nil] further requests that a peer takes on the connection
          def kept_times = @framing.kept_times

          # @return [Boolean] 1xx: another head follows
          def interim? = @framing.interim?

          # @return [Boolean] 101
          def upgrade? = @framing.upgrade?

          # @return [Integer] fields
          def size = @fields.size

          # @param name [String] in any case
          # @return [String, nil] the first field's value
          def [](name)
            field = @fields.find { |candidate| candidate.name.casecmp?(name) }
            field && Text.of(field.value)
          end

          # @param name [String] in any case
          # @return [Array<String>] of all fields of this name
          def values(name) = @fields.select { |field| field.name.casecmp?(name) }.map { |field| Text.of(field.value) }

          # @yieldparam name [String] as it came
          def each
            return to_enum(:each) unless block_given?

            @fields.each { |field| yield(field.to_a) }
            self
          end
        end

        # Reads one head, line by line; twin of http1_head.c. A line is looked at when it is there as a whole, and its
        # bytes before that only for what can't be in any line.
        class HeadReader
          BEGINNING = "HTTP/"
          CR = 13
          LF = 10

          def initialize(exchange, limits)
            @exchange = exchange
            @limits = limits
            @at = 0
            @line = 0
            @fields = []
          end

          # @param bytes [String] binary, always from the head's first byte
          # @return [Head, nil] nil when more bytes are needed
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
          def empty?(size) = @start.nil? && size.zero?

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
            longest = @limits.start_line
            limited = window.bytesize > longest
            check_beginning(window, limited ? longest : window.bytesize)
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

          def start(line)
            @start = StartLine.parse(line)
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

        # The first line of a response: HTTP/1.minor, its status, and the reason (binary).
        StartLine = Struct.new(:minor, :status, :reason) do
          # @param line [String] binary, free of control bytes
          def self.parse(line)
            raise Broken.new(:not_http, line.bytesize) unless line.start_with?("HTTP/")

            version = version_of(line)
            raise Broken.new(:status_line, 8) unless line[8] == " "
            raise Broken.new(:status, 9) unless line.match?(/\A.{9}[1-9]\d\d(?!\d)/n)
            raise Broken.new(:status_line, 12) unless [nil, " "].include?(line[12])

            new(version, line[9, 3].to_i, line[13..] || "".b)
          end

          def self.version_of(line)
            version = line.match(/[\d.]*/n, 5)[0]
            raise Broken.new(:version, 5) unless %w[1.0 1.1].include?(version)

            version[2].to_i
          end
        end
      end
    end
  end
end
