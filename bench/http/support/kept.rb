# frozen_string_literal: true

require "json"

module Bench
  module HTTP
    # The bodies that a contestant has got, all of them in memory. They are compared with what should have come when the
    # result is written, not while time is taken.
    class Kept
      # @param pages [Pages] what was asked for
      # @param bodies [Array<String>]
      # @param in_order [Boolean] whether they are in the order of the requests
      def initialize(pages, bodies, in_order: true)
        @pages = pages
        @bodies = bodies
        @in_order = in_order
      end

      # @return [Hash{String => Integer}] what all contestants must agree on
      def self.verdict(bodies:, bytes:, wrong:) = { "bodies" => bodies, "bytes" => bytes, "wrong" => wrong }

      # @return [Hash{String => Integer}]
      def to_h = self.class.verdict(bodies: @bodies.size, bytes: @bodies.sum { |body| body.to_s.bytesize }, wrong: wrong)

      def to_json(*arguments) = to_h.to_json(*arguments)

      private

      # Compared byte by byte, whatever encoding a client gives its bodies.
      def wrong = ordered.each_with_index.count { |body, index| body.b != expected(index) }

      def ordered
        bodies = @bodies.map(&:to_s)
        @in_order ? bodies : in_order_of_requests(bodies)
      end

      # Those that came as they finished: each takes the place of the request it answers, so what is missing, or there
      # twice, is wrong.
      def in_order_of_requests(bodies)
        places = bodies.group_by(&:b)
        Array.new(bodies.size) { |index| places[expected(index)]&.shift.to_s }
      end

      def expected(index) = @pages.body(index)
    end
  end
end
