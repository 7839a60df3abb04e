# frozen_string_literal: true

require_relative "../upload/source"
require "plait/values/errors"

module Plait
  module HTTP
    class Multipart
      # One value of a form, and what is said of it.
      class Part
        # Where a quoted parameter would end. As browsers escape them (HTML §4.10.22.8, which RFC 7578 §4.2 allows); a
        # backslash some servers take for a part of the name.
        ESCAPES = { '"' => "%22", "\r" => "%0D", "\n" => "%0A" }.freeze
        FILE = "application/octet-stream"
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        private_constant :ESCAPES, :FILE, :CONTROL

        class << self
          # @param value [Object]
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
    end
  end
end
