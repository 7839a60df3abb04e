# frozen_string_literal: true

module Bench
  module HTTP
    # What the origins answer with. A client is never told: it must return what follows from the target alone, so that an
    # answer to somebody else's request, a hole or a cut end is noticed.
    class Pages
      # @return [Hash{Symbol => Pages}]
      def self.all = @all ||= {}

      # @param kind [Symbol] :small, :chunked, :kib64, :mib5
      # @return [Pages]
      def self.fetch(kind) = all.fetch(kind)

      # @return [Symbol]
      attr_reader :kind
      # @return [Integer] bytes of a body
      attr_reader :bytes
      # Another path of the same bodies.
      attr_writer :path

      # @param kind [Symbol]
      # @param path [String] with one number in it, as for format
      # @param bytes [Integer]
      # @param modulus [Integer, nil] number of different bodies; nil: every number has its own
      def initialize(kind, path:, bytes:, modulus: nil)
        @kind = kind
        @path = path
        @bytes = bytes
        @modulus = modulus
        self.class.all[kind] = self
      end

      # @param count [Integer]
      # @return [Array<String>] paths with their queries
      def targets(count) = Array.new(count) { |index| format(@path, number(index)) }

      # @param index [Integer] of the target
      # @return [String] binary
      def body(index) = format("%08d", number(index)).b << filler

      # @return [String] what follows the number in every body
      def filler = @filler ||= (LINE * ((bytes / LINE.bytesize) + 1)).byteslice(0, bytes - DIGITS).freeze

      # @return [Hash{String => String}] paths of the files an origin needs => their contents
      def files = Array.new(@modulus.to_i) { |index| [format(@path, index), body(index)] }.to_h

      private

      def number(index) = @modulus ? index % @modulus : index

      DIGITS = 8
      # No character with a meaning in an nginx configuration or in a server-side include.
      LINE = " all work and no play makes a client dull"
      private_constant :DIGITS, :LINE

      # 612 bytes: nginx's own welcome page.
      new(:small, path: "/small?n=%08d", bytes: 612)
      # Of an origin behind nginx that answers after 20 ms.
      new(:far, path: "/far?n=%08d", bytes: 612)
      # The same after 10 s.
      new(:late, path: "/late?n=%08d", bytes: 612)
      # By gzip, for a client that asks for it.
      new(:coded, path: "/coded?n=%08d", bytes: 612)
      new(:chunked, path: "/chunked.html?n=%08d", bytes: 10_000)
      new(:kib64, path: "/64k-%d", bytes: 64 * 1024, modulus: 8)
      new(:mib5, path: "/5m-%d", bytes: 5 * 1024 * 1024, modulus: 2)
    end
  end
end
