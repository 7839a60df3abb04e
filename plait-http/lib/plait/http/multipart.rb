# frozen_string_literal: true

require "securerandom"

module Plait
  module HTTP
    # multipart/form-data (RFC 7578): a form with files, written while it is sent.
    #
    # @example
    #   Multipart.new(title: "Sunset", tags: ["sea", "sky"], photo: File.open("sunset.jpg"))
    #   Multipart.new(data: Multipart::Part.new(csv, filename: "table.csv", content_type: "text/csv"))
    class Multipart
      # One value of a form, with its headers.
      class Part
        # Where a quoted parameter would end. As browsers escape them (HTML §4.10.22.8, which RFC 7578 §4.2 allows); a
        # backslash some servers take for a part of the name.
        ESCAPES = { '"' => "%22", "\r" => "%0D", "\n" => "%0A" }.freeze
        FILE = "application/octet-stream"
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        private_constant :ESCAPES, :FILE, :CONTROL

        class << self
          # @return [Part]
          # @raise [UsageError]
          def for(value)
            return value if value.is_a?(Part)
            return new(value, filename: filename_of(value)) if value.respond_to?(:read)
            return new(value.to_s) unless value.respond_to?(:each)

            raise UsageError, "a form's field can't be a #{value.class}: say which name each value shall have, such as " \
                              "\"user[name]\", or what kind of content it is, by Multipart::Part.new"
          end

          private

          # @return [String, true] true: the name of the field
          def filename_of(io)
            name = io.original_filename if io.respond_to?(:original_filename)
            name ||= io.path if io.respond_to?(:path)
            name ? File.basename(name) : true
          end
        end

        # @return [Upload::Text, Upload::Reader, Upload::Sequence]
        attr_reader :source

        # @param content [String, IO, #read, Enumerable<String>]
        # @param filename [String, nil] nil: it is no file
        # @param content_type [String, nil]
        # @raise [UsageError]
        def initialize(content, filename: nil, content_type: nil)
          @source = Upload::Source.for(content)
          @filename = filename
          @content_type = content_type || (filename && FILE)
          return unless CONTROL.match?(@content_type.to_s.b)

          raise UsageError, "the content type #{content_type.inspect} has a line break or another control character"
        end

        # @param name [#to_s] of the field
        # @return [String] the part's header, binary, without the empty line
        def head(name)
          filename = @filename == true ? name : @filename
          head = +"Content-Disposition: form-data; name=\"".b << escape(name) << '"'
          head << "; filename=\"" << escape(filename) << '"' if filename
          head << "\r\n"
          head << "Content-Type: " << @content_type.b << "\r\n" if @content_type
          head
        end

        private

        # In UTF-8 (RFC 7578 §5.1.2).
        def escape(name)
          text = name.to_s
          text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY
          text.b.gsub(/["\r\n]/n, ESCAPES)
        rescue EncodingError => e
          raise UsageError, "the name #{name.inspect} can't be put into UTF-8: #{e.message}"
        end
      end

      # Bytes of a piece at most.
      PIECE = 64 * 1024
      # Bytes under which pieces are put together.
      SMALL = 16 * 1024

      # @return [String] "multipart/form-data; boundary=…"
      attr_reader :content_type
      # @return [Integer, nil] bytes of the whole; nil when a part does not know its own
      attr_reader :size

      # @param fields [Hash, Enumerable<Array(#to_s, Object)>] names and values: text, files and other objects that can be read,
      #   {Part}s, Arrays of these for a field that is there several times
      # @raise [UsageError] for an object that can't be a value
      def initialize(fields)
        unless fields.respond_to?(:flat_map)
          raise UsageError, "multipart: takes a Hash or pairs of names and values, not #{fields.class}"
        end

        # 192 random bits: they are in no data, and no file has to be read to know it.
        @boundary = "plait-#{SecureRandom.hex(24)}"
        @content_type = "multipart/form-data; boundary=#{@boundary}"
        @parts = fields.flat_map { |name, value| values(value).map { |one| [opening(name, one), one.source] } }
        @size = measure
      end

      # @yieldparam piece [String] binary, of 64 KiB at most
      # @raise (see Upload::Reader#each)
      def each(&block)
        pending = String.new(encoding: Encoding::BINARY)
        pieces { |piece| pending = gather(pending, piece, &block) }
        yield pending
      end

      # @return [Boolean] whether all parts can be read again
      def replayable? = @parts.all? { |_, source| source.replayable? }

      private

      # A Hash or a Struct would be flattened into other values than meant.
      def values(value) = (value.is_a?(Array) ? value : [value]).map { |one| Part.for(one) }

      def opening(name, part) = "--#{@boundary}\r\n#{part.head(name)}\r\n".b

      def closing = "--#{@boundary}--\r\n".b

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
      # @return [String] the rest, still to be sent
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
