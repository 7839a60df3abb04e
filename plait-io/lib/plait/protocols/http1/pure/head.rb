# frozen_string_literal: true

require_relative "text"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # A request's or a response's head; twin of NativeHead. Its strings are UTF-8 where they are that, else binary.
        class Head
          include Enumerable

          # @return [String] as it came, frozen and binary
          attr_reader :bytes

          # @param bytes [String]
          # @param start [StartLine]
          # @param fields [Array<Field>]
          # @param framing [Framing]
          def initialize(bytes, start, fields, framing)
            @bytes = bytes
            @start = start
            @fields = fields
            @framing = framing
          end

          # @return [String] "1.0" or "1.1"
          def version = "1.#{@start.minor}"

          # @return [Integer, nil] of a response
          def status = @start.status

          # @return [String, nil] of a response; may be empty
          def reason = @start.reason && Text.of(@start.reason)

          # @return [String, nil] of a request
          def request_method = @start.method && Text.of(@start.method)

          # @return [String, nil] of a request
          def target = @start.target && Text.of(@start.target)

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

          # @return [Boolean] a request that offers an upgrade, or 101
          def upgrade? = @framing.upgrade?

          # @return [Boolean] a request whose body waits for 100
          def expect_continue? = @framing.expect_continue?

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
          # @yieldparam value [String]
          def each
            return to_enum(:each) unless block_given?

            @fields.each { |field| yield(field.to_a) }
            self
          end
        end
      end
    end
  end
end
