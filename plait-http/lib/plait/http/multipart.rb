# frozen_string_literal: true

require "securerandom"
require_relative "multipart/part"
require "plait/values/errors"

module Plait
  module HTTP
    # multipart/form-data (RFC 7578): a form with files, written while it is sent.
    #
    # @example
    #   Multipart.new(title: "Sunset", tags: ["sea", "sky"], photo: File.open("sunset.jpg"))
    #   Multipart.new(data: Multipart::Part.new(csv, filename: "table.csv", content_type: "text/csv"))
    class Multipart
      # Bytes of a piece at most.
      PIECE = 64 * 1024
      # Bytes under which pieces are put together.
      SMALL = 16 * 1024

      # @return [String] "multipart/form-data; boundary=…"
      attr_reader :content_type
      # @return [Integer, nil] bytes of the whole; nil when a part does not know its own
      attr_reader :size

      # @param fields [Hash, Enumerable<Array(#to_s, Object)>] names and values: text, files and whatever else can be read,
      #   {Part}s, Arrays of these for a field that is there several times
      # @raise [UsageError] for what can't be a value
      def initialize(fields)
        unless fields.respond_to?(:flat_map)
          raise UsageError, "multipart: takes a Hash or pairs of names and values, not #{fields.class}"
        end

        # 190 bits that nobody can guess: they are in no data, and nobody has to read a file to know.
        @boundary = "plait-#{SecureRandom.alphanumeric(32)}"
        @content_type = "multipart/form-data; boundary=#{@boundary}"
        @parts = fields.flat_map { |name, value| values(value).map { |one| [opening(name, one), one.source] } }
        @size = measure
      end

      # @yieldparam piece [String] binary, of 64 KiB at most
      # @return [void]
      # @raise (see Upload::Reader#each)
      def each(&block)
        pending = String.new(encoding: Encoding::BINARY)
        pieces { |piece| pending = gather(pending, piece, &block) }
        yield pending
      end

      # @return [Boolean] whether all parts can be read again
      def replayable? = @parts.all? { |_, source| source.replayable? }

      private

      # A Hash or a Struct would be flattened into what nobody meant.
      def values(value) = (value.is_a?(Array) ? value : [value]).map { |one| Part.for(one) }

      def opening(name, part) = "--#{@boundary}\r\n#{part.head(name)}\r\n".b

      def closing = "--#{@boundary}--\r\n".b

      # @return [Integer, nil]
      def measure
        sizes = @parts.map { |opening, source| source.size && (opening.bytesize + source.size + 2) }
        sizes.sum + closing.bytesize if sizes.all?
      end

      def pieces(&block)
        @parts.each do |opening, source|
          yield opening
          source.each { |piece| slices(piece, &block) }
          yield "\r\n"
        end
        yield closing
      end

      def slices(piece)
        return yield piece if piece.bytesize <= PIECE

        0.step(piece.bytesize - 1, PIECE) { |at| yield piece.byteslice(at, PIECE) }
      end

      # A form of many fields is not to be a system call for each; large pieces go without a copy.
      # @return [String] what is still to be sent
      def gather(pending, piece)
        return pending << piece.b if piece.bytesize < SMALL && pending.bytesize + piece.bytesize <= PIECE

        yield pending unless pending.empty?
        return String.new(piece, encoding: Encoding::BINARY) if piece.bytesize < SMALL

        yield piece
        String.new(encoding: Encoding::BINARY)
      end
    end
  end
end
