# frozen_string_literal: true

require_relative "../limits"

module Plait
  module Protocols
    module HTTP1
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
