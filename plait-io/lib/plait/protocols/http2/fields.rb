# frozen_string_literal: true

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

        # @param fields [Array<Array(String, String)>] binary, without pseudo fields
        # @param values [Regexp] {STRICT} or {LENIENT}
        # @return [String, nil] what is wrong with them
        def self.fault(fields, values)
          fields.each do |name, value|
            return "the pseudo field #{name} behind other fields, or in trailers" if name.start_with?(":")
            return "a field named #{name.inspect[0, 80]}" if !NAME.match?(name) || CONNECTION.include?(name)
            return "the value #{value.inspect[0, 80]} of #{name}" unless values.match?(value)
          end
          nil
        end
      end
    end
  end
end
