# frozen_string_literal: true

require "pg"
require_relative "../session"
require "plait/values/errors"

module Plait
  module DB
    class Postgres < Session
      # Ruby's classes for the server's types: numbers, true and false, times and dates, JSON, bytes; all else is text.
      module Types
        KINDS = {
          ::PG::TextDecoder::Boolean => [16], ::PG::TextDecoder::Bytea => [17], ::PG::TextDecoder::Integer => [20, 21, 23, 26],
          ::PG::TextDecoder::Float => [700, 701], ::PG::TextDecoder::Numeric => [1700], ::PG::TextDecoder::Date => [1082],
          ::PG::TextDecoder::TimestampWithoutTimeZone => [1114], ::PG::TextDecoder::TimestampWithTimeZone => [1184],
          ::PG::TextDecoder::JSON => [114, 3802]
        }.freeze
        private_constant :KINDS

        class << self
          # @return [PG::TypeMapByClass] what is given for placeholders, as the server reads it: bytes (a String in BINARY), JSON
          #   for a Hash, an Array of the server's for one of Ruby's, times with their zone
          def for_queries
            ::PG::TypeMapByClass.new.tap do |map|
              map[::String] = method(:coder_for_text)
              map[::Hash] = ::PG::TextEncoder::JSON.new
              map[::Array] = ::PG::TextEncoder::Array.new(elements_type: ::PG::TextEncoder::String.new)
              map[::Time] = ::PG::TextEncoder::TimestampWithTimeZone.new
              map[::Object] = method(:coder_for_other)
            end
          end

          private

          # The text of "#<Object:0x00007f>" is nothing that somebody wants to find in a table.
          def coder_for_other(value)
            return TEXT unless value.to_s.start_with?("#<")

            raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
          end

          def coder_for_text(text) = text.encoding == Encoding::BINARY && !text.ascii_only? ? BYTES : TEXT
        end

        TEXT = ::PG::TextEncoder::String.new.freeze
        BYTES = ::PG::BinaryEncoder::Bytea.new(format: 1, oid: 17).freeze
        private_constant :TEXT, :BYTES

        # What is read, by the numbers of the types built into the server (pg_type.dat), which never change: nothing has to be
        # asked.
        # @return [PG::TypeMapByOid]
        def self.map
          ::PG::TypeMapByOid.new.tap do |map|
            map.default_type_map = ::PG::TypeMapAllStrings.new
            KINDS.each { |decoder, oids| oids.each { |oid| map.add_coder(decoder.new(oid: oid, format: 0)) } }
          end
        end
      end
    end
  end
end
