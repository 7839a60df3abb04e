# frozen_string_literal: true

require "plait/io/native"
require "plait/protocols/http1"

module Plait
  class Server
    class Answer
      # What the server itself says in the head of an answer.
      module Head
        OWN = %w[content-length transfer-encoding connection].freeze

        private

        def head
          kept = switching? ? @fields : @fields.reject { |name, _| OWN.include?(name.downcase) }
          own = switching? ? [] : [length_field, coding_field, connection_field]
          own << ["date", date] unless named("date")
          Protocols::HTTP1::Serializer.response(@status, NativeServer.reason(@status), kept + own.compact)
        end

        def length_field = (["content-length", @length.to_s] if @length && @status != 204 && !tunnel? && !coding_field)

        def coding_field
          return %w[transfer-encoding chunked] if @framing == :chunked

          coding = named("transfer-encoding")
          ["transfer-encoding", coding] if coding && @framing != :none && !tunnel? && !coding.casecmp?("identity")
        end

        # Who names other protocols says so here too (RFC 9110 section 7.8).
        def connection_field
          words = []
          words << "close" unless @persistent
          words << "keep-alive" if @persistent && @exchange.minor.zero?
          words << "upgrade" if named("upgrade")
          ["connection", words.join(", ")] if words.any?
        end

        def date = Time.now.utc.strftime("%a, %d %b %Y %H:%M:%S GMT")
      end
    end
  end
end
