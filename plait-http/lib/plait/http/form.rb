# frozen_string_literal: true

require "uri"

module Plait
  module HTTP
    # application/x-www-form-urlencoded: queries, and the bodies of plain forms.
    module Form
      # The value of Content-Type.
      CONTENT_TYPE = "application/x-www-form-urlencoded"
      # A text that is its own form.
      PLAIN = /\A[\w*.-]*\z/

      module_function

      # @example
      #   Form.encode(q: "a b", tag: ["x", "y"], user: {id: 1}, debug: nil)   # => "q=a+b&tag[]=x&tag[]=y&user[id]=1&debug",
      #                                                                       #    its brackets percent-encoded
      #   Form.encode([["tag", ["x", "y"]]])                                  # => "tag=x&tag=y"
      # @param fields [Hash, Enumerable<Array(#to_s, Object)>] names and values. A Hash nests as Rack and Rails read it. Of pairs
      #   an Array is the field once for each of its elements. nil is a name without a value. A binary String is encoded as it
      #   is, any other in UTF-8
      # @return [String] ASCII
      # @raise [UsageError] for a value that has no such form
      def encode(fields)
        raise UsageError, no_fields(fields) unless fields.respond_to?(:flat_map)

        nested = fields.respond_to?(:each_pair)
        fields.each_with_object(+"") do |(name, value), text|
          if nested then nest(text, name, value)
          elsif value.is_a?(Array) then value.each { |one| append(text, name, one) }
          else append(text, name, value)
          end
        end
      end

      # @api private
      def nest(text, name, value)
        case value
        when Hash then value.each { |key, inner| nest(text, "#{name}[#{key}]", inner) }
        when Array then nest_each(text, name, value)
        else append(text, name, value)
        end
      end

      # @api private
      def nest_each(text, name, values)
        name = "#{name}[]" unless name.end_with?("[]")
        values.each do |value|
          raise UsageError, "the form's field #{name.inspect} has a list in a list, which has no form" if value.is_a?(Array)

          nest(text, name, value)
        end
      end

      # @api private
      def append(text, name, value)
        text << "&" unless text.empty?
        text << escape(name, name)
        text << "=" << escape(name, value) unless value.nil?
      end

      # @api private
      def escape(name, value)
        raise UsageError, unfit(name, value) if value.respond_to?(:read) || value.respond_to?(:each)

        text = value.is_a?(Symbol) ? value.name : value.to_s
        return text if text.ascii_only? && text.match?(PLAIN)

        text = text.encode(Encoding::UTF_8) unless text.encoding == Encoding::BINARY
        URI.encode_www_form_component(text)
      rescue EncodingError => e
        raise UsageError, "the form's field #{name.inspect} can't be put into UTF-8: #{e.message}"
      end

      # @api private
      def no_fields(given)
        "a form takes a Hash or pairs of names and values, not #{given.class}; an encoded form goes into body: or " \
          "query: as a String"
      end

      # @api private
      def unfit(name, value)
        return "the form's field #{name.inspect} is a file: a form with files is multipart:" if value.respond_to?(:read)

        "the form's field #{name.inspect} is a #{value.class}: pairs have no nested fields; give a Hash, or name each value, " \
          "such as #{"#{name}[key]".inspect}"
      end
    end
    private_constant :Form
  end
end
