# frozen_string_literal: true

require_relative "rules"
require_relative "syntax"

module Plait
  module Protocols
    module HTTP1
      # Heads and chunks as they are sent. What would break the protocol is refused before anything is sent: above all a
      # line break in a field, by which a value becomes a field or a message of its own.
      module Serializer
        class << self
          # @param target [String] "/path?query", "http://host/path" to a proxy, "host:port" of CONNECT, "*" of OPTIONS
          # @param fields [Enumerable<Array(String, String)>] names and values; exactly one Host
          # @return [String] the head, binary
          # @raise [LocalProtocolError]
          def request(method, target, fields)
            method, target = bytes(method), bytes(target)
            check_request_line(method, target)
            pairs = check(fields)
            hosts = pairs.count { |name, _| name.casecmp?("host") }
            refuse(hosts.zero? ? :no_host : :two_hosts, fields) unless hosts == 1

            head("#{method} #{target} HTTP/1.1\r\n", pairs)
          end

          # @param status [Integer] 100 to 999
          # @param reason [String] may be empty
          # @return [String] the head, binary
          # @raise [LocalProtocolError]
          def response(status, reason, fields)
            reason = bytes(reason)
            refuse(:status, status) unless status.is_a?(Integer) && status.between?(100, 999)
            refuse(:status_line, reason) if Syntax::CONTROL.match?(reason)

            head("HTTP/1.1 #{status} #{reason}\r\n", check(fields))
          end

          # @param data [String] not empty: an empty chunk would end the body
          # @return [String] binary
          def chunk(data)
            raise LocalProtocolError, "an empty chunk ends the body: use last_chunk" if data.empty?

            "#{data.bytesize.to_s(16)}\r\n".b << data.b << "\r\n"
          end

          # @return [String] what ends a chunked body, binary
          # @raise [LocalProtocolError]
          def last_chunk(trailers = []) = head("0\r\n", check(trailers))

          private

          def bytes(text) = text.to_s.b

          def head(first_line, pairs)
            pairs.each_with_object(first_line.b) { |(name, value), head| head << name << ": " << value << "\r\n" } << "\r\n"
          end

          def check(fields)
            pairs = fields.map { |name, value| check_field(bytes(name), bytes(value)) }
            check_lengths(pairs)
            pairs
          end

          def check_field(name, value)
            refuse(name.empty? ? :empty_name : :field_name, name) unless Syntax::TOKEN.match?(name)
            refuse(:field_value, "#{name}: #{value}") if Syntax::CONTROL.match?(value) || value.match?(/\A[ \t]|[ \t]\z/n)
            refuse(:host, value) if name.casecmp?("host") && !Syntax::HOST_AND_PORT.match?(value)

            [name, value]
          end

          def check_lengths(pairs)
            lengths = pairs.select { |name, _| name.casecmp?("content-length") }.map(&:last)
            refuse(:content_length, lengths.first) unless lengths.all?(/\A\d+\z/n)
            refuse(:content_length_conflict, lengths.join(", ")) if lengths.uniq.size > 1
            return if lengths.empty? || pairs.none? { |name, _| name.casecmp?("transfer-encoding") }

            refuse(:two_lengths, lengths.first)
          end

          def check_request_line(method, target)
            refuse(:method, method) unless Syntax::TOKEN.match?(method)
            refuse(:target, target) unless Syntax::TARGET.match?(target)
            refuse(:target_form, "#{method} #{target}") unless Syntax.target_form?(method, target)
          end

          def refuse(name, what)
            rule = Rules::ALL.fetch(name)
            message = "not sent, for it would be broken HTTP/1.1: #{rule.text} (#{rule.section}): #{what.inspect[0, 200]}"
            raise LocalProtocolError.new(message, rule: name)
          end
        end
      end
    end
  end
end
