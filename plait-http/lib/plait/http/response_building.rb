# frozen_string_literal: true

require "plait/protocols/http1/syntax"
require "plait/values/errors"
require_relative "headers"

module Plait
  module HTTP
    # How a {Response} comes to be that no wire has received: of HTTP/2, of a test's stub, of another process. It needs
    # `assemble` of the class.
    module ResponseBuilding
      MINORS = { "1.0" => 0, "1.1" => 1, "2" => 2 }.freeze
      STATUSES = (100..999)
      private_constant :MINORS, :STATUSES

      # @param status [Integer]
      # @param headers [Headers, Hash, Array] names and values
      # @param body [String, nil]
      # @param version [String] "1.0", "1.1" or "2"
      # @param reason [String, nil]
      # @param url [String, nil]
      # @return [Response]
      # @raise [UsageError] for a value that no response can have
      def build(status:, headers: [], body: "", version: "1.1", reason: nil, url: nil)
        reason = reason.to_s
        check_status_line(status, version, reason)
        fields = Headers.from(headers)
        start = "HTTP/#{version} #{status} "
        head = "#{start}#{reason}\r\n".b << fields.to_s << "\r\n"
        response = assemble(head, status, MINORS.fetch(version), start.bytesize, reason.bytesize, fields.key?("content-encoding"))
        response.body = body
        response.url = url
        response
      end

      # Of another process.
      def _load(dumped)
        head, status, version, reason_size, encoded, rest = Marshal.load(dumped) # rubocop:disable Security/MarshalLoad -- Ruby's own hook
        restore(head, status, version, reason_size, encoded, rest)
      end

      # Of the head: without a body.
      # @param response [Response]
      # @return [Response]
      # @api private
      def copy(response)
        restore(response.head_bytes, response.status, response.version, response.reason.bytesize, response.encoded?,
                url: response.url, request: response.request, phases: response.phases, durations: response.durations,
                decoded: response.decoded?)
      end

      private

      def restore(head, status, version, reason_size, encoded, rest) # rubocop:disable Metrics/ParameterLists -- the parts of a head
        reason_at = [head.index("\r\n") - reason_size, 0].max
        response = assemble(head, status, MINORS.fetch(version), reason_at, reason_size, encoded)
        rest.each { |name, value| response.public_send(:"#{name}=", value) unless value.nil? }
        response
      end

      def check_status_line(status, version, reason)
        possible = status.is_a?(Integer) && STATUSES.cover?(status)
        raise UsageError, "a status is an Integer from 100 to 999, not #{status.inspect}" unless possible
        raise UsageError, "a version is #{MINORS.keys.join(", ")}, not #{version.inspect}" unless MINORS.key?(version)
        return unless Protocols::HTTP1::Syntax::CONTROL.match?(reason.b)

        raise UsageError, "#{reason.inspect} can't be a reason: it has a control byte"
      end
    end
    private_constant :ResponseBuilding
  end
end
