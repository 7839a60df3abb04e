# frozen_string_literal: true

require_relative "../../rulebook"
require_relative "../syntax"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # A field line: bytes, and where they stand. No control byte is among them but tabs, so that strip and rstrip take
        # white space as HTTP knows it; a pattern that ends in \z would take the square of the time.
        class Field
          TOKEN_RUN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]*/n
          # An element of a comma-separated list, white space around it removed.
          Element = Struct.new(:text, :at)

          class << self
            # @param line [String] binary, free of control bytes
            # @param at [Integer] where it stands
            # @raise [Broken]
            def parse(line, at)
              colon = line.match(TOKEN_RUN, 0).end(0)
              check_name(line, colon, at)
              from = line.index(/[^ \t]/n, colon + 1) || line.bytesize
              new(line.byteslice(0, colon), line.byteslice(from..).rstrip, at, at + from)
            end

            private

            def check_name(line, colon, at)
              after = line[colon]
              return if colon.positive? && after == ":"

              raise Broken.new(after ? mistake(colon, after) : :no_colon, at + colon)
            end

            def mistake(colon, byte)
              return :space_in_name if [" ", "\t"].include?(byte)

              colon.zero? && byte == ":" ? :empty_name : :field_name
            end
          end

          # @return [String] binary
          attr_reader :name, :value
          attr_reader :name_at, :value_at

          def initialize(name, value, name_at, value_at)
            @name = name
            @value = value
            @name_at = name_at
            @value_at = value_at
          end

          # @return [String] the name in lower case
          def key = @key ||= @name.downcase

          # @return [Array<Element>] at least one, some perhaps empty
          def elements
            at = @value_at
            parts = @value.empty? ? [""] : @value.split(",", -1)
            parts.map do |part|
              element = Element.new(part.strip, at + part[/\A[ \t]*/n].size)
              at += part.bytesize + 1
              element
            end
          end

          def to_a = [Text.name(@name), Text.of(@value)]
        end

        # Where the message ends (RFC 9112 §6.3), and what becomes of the connection (§9.3).
        class Framing
          LARGEST_LENGTH = (1 << 63) - 1

          # @return [Integer, nil] what Content-Length says
          attr_reader :content_length

          # @raise [Broken]
          def initialize(exchange, start, limits)
            @exchange = exchange
            @start = start
            @seen = {}
            @options = []
            @chunked = false
            judge_status(limits)
          end

          # @raise [Broken]
          def judge(field)
            case field.key
            when "content-length" then tunnel? || judge_length(field)
            when "transfer-encoding" then tunnel? || judge_codings(field)
            when "connection" then @options.concat(field.elements.map { |element| element.text.downcase })
            else judge_login(field)
            end
            @seen[field.key] ||= field
          end

          # At the empty line.
          #
          # @param at [Integer] where it stands
          def judge_all(at) = (raise Broken.new(:no_upgrade, at) if upgrade? && !@seen["upgrade"])

          # @return [Symbol] :none, :length, :chunked, :close or :tunnel
          def kind
            return :tunnel if tunnel? || upgrade?
            return :none if bodiless?
            return :chunked if @chunked

            @content_length ? :length : :close
          end

          def persistent?
            return false if %i[close tunnel].include?(kind) || @options.include?("close")
            return false if @logged_in || kept_for == 0 || kept_times == 0

            @start.minor == 1 || @options.include?("keep-alive")
          end

          # @return [Integer, nil] seconds
          def kept_for = @kept&.first

          # @return [Integer, nil] requests
          def kept_times = @kept&.last

          def interim? = @start.status < 200 && !upgrade?

          def upgrade? = @start.status == 101

          private

          # 2xx to CONNECT: what its fields say of lengths must be ignored (RFC 9110 §9.3.6).
          def tunnel? = @exchange.connect && @start.status.between?(200, 299)

          def bodiless? = @exchange.head || @start.status < 200 || [204, 304].include?(@start.status)

          def judge_status(limits)
            raise Broken.new(:unasked_upgrade, 9) if upgrade? && !@exchange.upgrade
            raise Broken.new(:interim_limit, 9) if interim? && @exchange.interims >= limits.interim
          end

          def judge_length(field)
            raise Broken.new(:two_lengths, field.name_at) if @seen["transfer-encoding"]

            field.elements.each do |element|
              length = number(element)
              conflict = @content_length && @content_length != length
              raise Broken.new(:content_length_conflict, element.at) if conflict

              @content_length = length
            end
          end

          def number(element)
            digits = element.text[/\A\d*/n]
            raise Broken.new(:content_length, element.at + digits.size) if digits.empty? || digits != element.text
            raise Broken.new(:content_length_overflow, element.at) if digits.to_i > LARGEST_LENGTH

            digits.to_i
          end

          def judge_codings(field)
            raise Broken.new(:old_transfer_encoding, field.name_at) if @start.minor.zero?
            raise Broken.new(:two_lengths, field.name_at) if @seen["content-length"]

            field.elements.each { |element| judge_coding(element) }
          end

          def judge_coding(element)
            chunked = element.text.casecmp?("chunked")
            raise Broken.new(chunked ? :chunked_twice : :chunked_not_last, element.at) if @chunked
            raise Broken.new(:transfer_coding, element.at) unless chunked

            @chunked = true
          end

          def judge_login(field)
            if field.key == "keep-alive"
              @kept = %w[timeout max].zip(@kept.to_a).map { |name, before| Persistence.kept(name, field.value) || before }
            end
            @logged_in ||= Persistence.login_in_answer? { |name| field.value if name == field.key }
          end
        end

        # Bytes of a head as users get them.
        module Text
          class << self
            # @return [String] UTF-8 where it is that, else binary
            def of(bytes)
              text = bytes.dup.force_encoding(Encoding::UTF_8)
              text.valid_encoding? ? text : text.force_encoding(Encoding::BINARY)
            end

            # @return [String] the same object for the same name
            def name(bytes) = -of(bytes)
          end
        end
      end
    end
  end
end
