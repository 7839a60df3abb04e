# frozen_string_literal: true

require "uri"
require "plait/values/errors"

module Plait
  module HTTP
    # application/x-www-form-urlencoded: queries, and the bodies of plain forms.
    module Form
      # What it is called in a head.
      CONTENT_TYPE = "application/x-www-form-urlencoded"

      module_function

      # @example
      #   Form.encode(q: "a b", tag: ["x", "y"], debug: nil)   # => "q=a+b&tag=x&tag=y&debug"
      # @param fields [Hash, Enumerable<Array(#to_s, Object)>] names and values. An Array is the field once for each of its
      #   elements, nil a name without a value; a binary String is encoded as it is, any other in UTF-8
      # @return [String] ASCII
      # @raise [UsageError] for a value that has no such form
      def encode(fields)
        raise UsageError, no_fields(fields) unless fields.respond_to?(:flat_map)

        fields.flat_map { |name, value| value.is_a?(Array) ? value.map { |one| pair(name, one) } : [pair(name, value)] }
              .join("&")
      end

      # @api private
      def pair(name, value) = value.nil? ? escape(name, name) : "#{escape(name, name)}=#{escape(name, value)}"

      # @api private
      def escape(name, value)
        raise UsageError, unfit(name, value) if value.respond_to?(:read) || value.respond_to?(:each)

        text = value.to_s
        text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY
        URI.encode_www_form_component(text)
      rescue EncodingError => e
        raise UsageError, "the form's field #{name.inspect} can't be put into UTF-8: #{e.message}"
      end

      # @api private
      def no_fields(given)
        "a form takes a Hash or pairs of names and values, not #{given.class}; what is encoded already goes into body: or " \
          "query: as a String"
      end

      # @api private
      def unfit(name, value)
        return "the form's field #{name.inspect} is a file: a form with files is multipart:" if value.respond_to?(:read)

        "the form's field #{name.inspect} is a #{value.class}: a form has no nested fields; say which name each value " \
          "shall have, such as #{"#{name}[key]".inspect}"
      end
    end
  end
end
