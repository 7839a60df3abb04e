# frozen_string_literal: true

require_relative "../persistence"
require_relative "../syntax"
require_relative "../../broken"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # Where the message ends (RFC 9112 §6.3), and what becomes of the connection (§9.3).
        class Framing
          LARGEST_LENGTH = (1 << 63) - 1

          # @return [Integer, nil] what Content-Length says
          attr_reader :content_length

          # @param exchange [Exchange]
          # @param start [StartLine]
          # @param limits [Limits]
          # @raise [Broken]
          def initialize(exchange, start, limits)
            @exchange = exchange
            @start = start
            @seen = {}
            @options = []
            @chunked = false
            judge_status(limits) unless exchange.request?
          end

          # @param field [Field]
          # @raise [Broken]
          def judge(field)
            case field.key
            when "content-length" then tunnel? || judge_length(field)
            when "transfer-encoding" then tunnel? || judge_codings(field)
            when "connection" then @options.concat(field.elements.map { |element| element.text.downcase })
            else @exchange.request? ? judge_request_field(field) : judge_response_field(field)
            end
            @seen[field.key] ||= field
          end

          # At the empty line.
          #
          # @param at [Integer] where it stands
          # @raise [Broken]
          def judge_all(at)
            if @exchange.request?
              raise Broken.new(:no_host, at) if @start.minor == 1 && !@seen["host"]
            elsif @start.status == 101 && !@seen["upgrade"]
              raise Broken.new(:no_upgrade, at)
            end
          end

          # @return [Symbol] :none, :length, :chunked, :close or :tunnel
          def kind
            return :tunnel if tunnel? || @start.status == 101
            return :none if bodiless?
            return :chunked if @chunked
            return :length if @content_length

            @exchange.request? ? :none : :close
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

          def interim? = !@exchange.request? && @start.status < 200 && @start.status != 101

          def upgrade?
            return @start.status == 101 unless @exchange.request?

            @start.minor == 1 && @options.include?("upgrade") && @seen.key?("upgrade")
          end

          def expect_continue? = @expect_continue == true

          private

          # 2xx to CONNECT: what its fields say of lengths must be ignored (RFC 9110 §9.3.6).
          def tunnel? = @exchange.connect? && @start.status.between?(200, 299)

          def bodiless?
            return false if @exchange.request?

            @exchange.head? || @start.status < 200 || [204, 304].include?(@start.status)
          end

          def judge_status(limits)
            return if @start.status >= 200
            return raise_unless_offered if @start.status == 101

            raise Broken.new(:interim_limit, 9) if @exchange.interims >= limits.interim
          end

          def raise_unless_offered
            raise Broken.new(:unasked_upgrade, 9) unless @exchange.upgrade?
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

          def judge_request_field(field)
            case field.key
            when "host" then judge_host(field)
            when "expect" then @expect_continue ||= @start.minor == 1 && field.value.casecmp?("100-continue")
            end
          end

          def judge_response_field(field)
            if field.key == "keep-alive"
              @kept = %w[timeout max].zip(@kept.to_a).map { |name, before| Persistence.kept(name, field.value) || before }
            end
            @logged_in ||= Persistence.login_in_answer? { |name| field.value if name == field.key }
          end

          def judge_host(field)
            raise Broken.new(:two_hosts, field.name_at) if @seen["host"]
            raise Broken.new(:host, field.value_at) unless Syntax::HOST_AND_PORT.match?(field.value)
          end
        end
      end
    end
  end
end
