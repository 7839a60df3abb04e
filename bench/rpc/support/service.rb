# frozen_string_literal: true

module Bench
  module RPC
    # What every server does.
    class Service
      # So that no server is asked to make what it sends.
      # @param held [Array<Integer>] sizes of what it has before it begins
      def initialize(*held)
        @bodies = Hash.new { |bodies, size| bodies[size] = ("x".b * size).freeze }
        held.each { |size| @bodies[size] }
        GC.start
      end

      # @param size [Integer] bytes
      # @return [String] binary
      def get(size) = @bodies[size]

      # @return [Integer] how many bytes have come
      def put(bytes) = bytes.bytesize

      def add(left, right) = left + right
    end
  end
end
