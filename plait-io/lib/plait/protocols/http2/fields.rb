# frozen_string_literal: true

require_relative "../hpack/table"

module Plait
  module Protocols
    module HTTP2
      # The fields of heads and trailers (RFC 9113 §8.2).
      module Fields
        # About one connection only: they can't go by HTTP/2 (§8.2.2).
        CONNECTION = %w[connection keep-alive proxy-connection transfer-encoding upgrade http2-settings].freeze
        NAME = /\A[!#$%&'*+\-.^_`|~0-9a-z]+\z/n
        # As a server takes them: what could be two requests of HTTP/1.1 is none.
        STRICT = /\A(?:[^\x00-\x20\x7f](?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)?\z/n
        # As a client takes them (§8.2.1).
        LENIENT = /\A(?:[^\x00\x0a\x0d \t](?:[^\x00\x0a\x0d]*[^\x00\x0a\x0d \t])?)?\z/n

        # Names that are right, so that most fields need one look-up.
        KNOWN = (HPACK::Table::STATIC.map(&:first).grep(NAME) - CONNECTION).to_h { |name| [name, true] }.freeze
        private_constant :KNOWN

        # @param fields [Array<Array(String, String)>] binary, without pseudo fields
        # @param values [Regexp] {STRICT} or {LENIENT}
        # @return [String, nil] what is wrong with them
        def self.fault(fields, values)
          fields.each do |name, value|
            wrong = KNOWN.key?(name) ? nil : name_fault(name)
            return wrong if wrong
            return "the value #{value.inspect[0, 80]} of #{name}" unless values.match?(value)
          end
          nil
        end

        def self.name_fault(name)
          return "the pseudo field #{name} behind other fields, or in trailers" if name.start_with?(":")

          "a field named #{name.inspect[0, 80]}" if !NAME.match?(name) || CONNECTION.include?(name)
        end
        private_class_method :name_fault
      end
    end
  end
end
