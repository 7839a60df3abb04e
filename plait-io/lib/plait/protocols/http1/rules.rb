# frozen_string_literal: true

require_relative "../rulebook"

module Plait
  module Protocols
    module HTTP1
      # The rules that a peer can break, and the errors that say so. The engine's table is HTTP1_RULES in http1.h; a test
      # compares them.
      module Rules
        # What is wrong, where it is written, the limit that allows more, and what a server answers.
        Rule = Struct.new(:text, :section, :limit, :status)

        ALL = {
          bare_cr: ["a CR that no LF follows", "RFC 9112 §2.2", nil, 400],
          bare_lf: ["a line that LF alone ends: CRLF is required", "RFC 9112 §2.2", nil, 400],
          control: ["a control byte where none may be", "RFC 9110 §5.5", nil, 400],
          not_http: ["no status line: this is HTTP/0.9 or no HTTP at all", "RFC 9112 §4", nil, 400],
          version: ["a version other than HTTP/1.0 and HTTP/1.1", "RFC 9112 §2.3", nil, 505],
          status_line: ["a status line that is not: version SP status SP reason", "RFC 9112 §4", nil, 400],
          status: ["a status that is not three digits, from 100", "RFC 9112 §4", nil, 400],
          request_line: ["a request line that is not: method SP target SP version", "RFC 9112 §3", nil, 400],
          no_version: ["a request line without a version, as in HTTP/0.9", "RFC 9112 §3", nil, 400],
          preface: ["the preface of HTTP/2, on a connection that speaks HTTP/1.1", "RFC 9113 §3.4", nil, 505],
          method: ["a method that is not a token", "RFC 9112 §3.1", nil, 400],
          target: ["a byte that can't be in a request target", "RFC 9112 §3.2", nil, 400],
          target_form: ["a request target whose form its method does not have", "RFC 9112 §3.2", nil, 400],
          leading_space: ["white space before the first field", "RFC 9112 §2.2", nil, 400],
          obs_fold: ["a field value folded over lines", "RFC 9112 §5.2", nil, 400],
          no_colon: ["a field line without a colon", "RFC 9112 §5", nil, 400],
          empty_name: ["a field without a name", "RFC 9112 §5", nil, 400],
          space_in_name: ["white space in a field name or before its colon", "RFC 9112 §5.1", nil, 400],
          field_name: ["a field name that is not a token", "RFC 9110 §5.1", nil, 400],
          field_value: ["a field value with CR, LF, NUL or another control byte", "RFC 9110 §5.5", nil, 400],
          content_length: ["a Content-Length that is not digits", "RFC 9110 §8.6", nil, 400],
          content_length_overflow: ["a Content-Length over 2^63 - 1", "RFC 9110 §8.6", nil, 413],
          content_length_conflict: ["Content-Lengths that differ", "RFC 9112 §6.3", nil, 400],
          two_lengths: ["both Transfer-Encoding and Content-Length", "RFC 9112 §6.3", nil, 400],
          transfer_coding: ["a transfer coding other than chunked", "RFC 9112 §6.1", nil, 501],
          chunked_not_last: ["chunked is not the last transfer coding", "RFC 9112 §6.3", nil, 400],
          chunked_twice: ["chunked is applied more than once", "RFC 9112 §6.1", nil, 400],
          old_transfer_encoding: ["Transfer-Encoding in an HTTP/1.0 message", "RFC 9112 §6.1", nil, 400],
          no_host: ["an HTTP/1.1 request without Host", "RFC 9112 §3.2", nil, 400],
          two_hosts: ["more than one Host", "RFC 9112 §3.2", nil, 400],
          host: ["a Host that is not: host [:port]", "RFC 9112 §3.2", nil, 400],
          unasked_upgrade: ["101 to a request that offered no upgrade", "RFC 9110 §7.8", nil, 400],
          no_upgrade: ["101 without an Upgrade field", "RFC 9110 §7.8", nil, 400],
          chunk_size: ["a chunk size that is not hexadecimal digits", "RFC 9112 §7.1", nil, 400],
          chunk_size_overflow: ["a chunk size over 2^63 - 1, or of more than 16 digits", "RFC 9112 §7.1", nil, 413],
          chunk_extension: ["a malformed chunk extension", "RFC 9112 §7.1.1", nil, 400],
          chunk_end: ["no CRLF where the chunk ends", "RFC 9112 §7.1", nil, 400],
          start_line_limit: ["a start line over the limit", "RFC 9112 §3", :start_line, 414],
          head_limit: ["a head over the limit", "RFC 9110 §5.4", :head, 431],
          headers_limit: ["more fields than the limit", "RFC 9110 §5.4", :headers, 431],
          interim_limit: ["more 1xx responses than the limit", "RFC 9110 §15.2", :interim, 502],
          chunk_extensions_limit: ["chunk extensions over the limit", "RFC 9112 §7.1.1", :chunk_extensions, 413],
          trailer_limit: ["a trailer section over the limit", "RFC 9112 §7.1.2", :trailer, 431],
          body_limit: ["a body over the limit", "RFC 9110 §15.5.14", :body, 413],
          truncated_head: ["the input ended inside a head", "RFC 9112 §8", nil, 400],
          truncated_length: ["the input ended before Content-Length bytes", "RFC 9112 §8", nil, 400],
          truncated_chunked: ["the input ended before the last chunk", "RFC 9112 §8", nil, 400]
        }.transform_values { |fields| Rule.new(*fields).freeze }.freeze

        PROTOCOL = "HTTP/1.1"

        class << self
          include Rulebook

          private

          def particulars(rule) = { status: rule.status }
        end
      end

      # How much of each part of a message is taken before the peer has broken a rule that names the limit.
      class Limits < Protocols::Limits
        # In the order of struct http1_limits.
        DEFAULTS = {
          body: 1 << 30, start_line: 8 * 1024, head: 64 * 1024, headers: 128, interim: 32,
          chunk_extensions: 16 * 1024, trailer: 16 * 1024
        }.freeze
        # What the engine's integers hold.
        LARGEST = {
          body: (1 << 63) - 1, start_line: (1 << 24) - 1, head: (1 << 24) - 1, headers: 1 << 16, interim: (1 << 32) - 1,
          chunk_extensions: (1 << 32) - 1, trailer: (1 << 24) - 1
        }.freeze
        OPTIONAL = %i[body].freeze

        # @param lenient [Boolean] whether an answer may break rules that curl lets pass, see {Repair}
        # @param limits (see Protocols::Limits#initialize)
        # @raise [UsageError]
        def initialize(lenient: false, **limits)
          @lenient = lenient
          super(**limits)
        end

        def lenient? = @lenient

        # @return [Integer, nil] bytes of a body, its framing not counted; nil: no limit
        attr_reader :body
        # @return [Integer] bytes of a request or status line, CRLF not counted
        attr_reader :start_line
        # @return [Integer] bytes of a head, start line and last CRLF counted
        attr_reader :head
        # @return [Integer] fields of a head, and of a trailer section
        attr_reader :headers
        # @return [Integer] 1xx responses before the final one
        attr_reader :interim
        # @return [Integer] bytes of all chunk extensions of a body together
        attr_reader :chunk_extensions
        # @return [Integer] bytes of a trailer section
        attr_reader :trailer
      end
    end
  end
end
