# frozen_string_literal: true

module Plait
  module HTTP
    # Where the time of an exchange went, in seconds. The first three are nil on a connection that was there already; `dns`
    # also where there was no name to resolve, `tls` where nothing was encrypted.
    Timings = Struct.new(:dns, :connect, :tls, :send, :first_byte, :read, keyword_init: true) do
      # @return [Float]
      def total = to_a.compact.sum(0.0)
    end
  end
end
