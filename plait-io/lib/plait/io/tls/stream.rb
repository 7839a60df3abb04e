# frozen_string_literal: true

require "openssl"
require_relative "../stream"

module Plait
  module Io
    module TLS
      # A {Io::Stream} over TLS. An end without the peer's close_notify is an error: somebody may have cut it.
      class Stream < Io::Stream
        BREAKS = [SystemCallError, IOError, OpenSSL::SSL::SSLError].freeze
        private_constant :BREAKS

        # @return [Boolean]
        def tls? = true

        private

        # Session tickets may lie there unread: OpenSSL takes them, and then says that nothing is there.
        def unasked? = append(1) != :wait_readable

        def pending = @io.pending

        def breaks = BREAKS
      end
    end
  end
end
