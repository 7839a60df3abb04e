# frozen_string_literal: true

module Plait
  module HTTP
    # The fields of a message, in their order; names are found in any case (RFC 9110 §5.1). A value that can't be sent is
    # refused when it is added, above all one with a line break, by which a part of it becomes another field.
    class Headers
      include Enumerable

      # The one list field whose values can't be joined (RFC 9110 §5.3).
      SET_COOKIE = "set-cookie"
      NONE = [].freeze
      Syntax = Protocols::HTTP1::Syntax
      private_constant :NONE, :Syntax

      # @param fields [Headers, Hash, Enumerable<Array(String, String)>, nil] a value may be an Array of values; nil
      #   removes a field of that name from the headers that this is merged into
      # @return [Headers] the same object when it is one
      def self.from(fields) = fields.is_a?(Headers) ? fields : new(fields)

      # Of a received head, whose names and values the parser has checked.
      # @param pairs [Array<Array(String, String)>]
      # @return [Headers]
      # @api private
      def self.received(pairs) = allocate.tap { |headers| headers.send(:take, pairs) }

      # @raise [UsageError]
      def initialize(fields = nil)
        @pairs = []
        return if fields.nil?
        raise UsageError, "headers: takes a Hash or pairs, not #{fields.class}" unless fields.respond_to?(:each)

        @removed = fields.removed if fields.is_a?(Headers)
        fields.each { |pair| add(*checked_pair(pair)) }
      end

      # @param name [String, Symbol] :content_type is "content-type"
      # @return [String, nil] the value; several ones joined by ", ", of Set-Cookie the first
      def [](name)
        values = get_all(name)
        values.size < 2 || text(name).casecmp?(SET_COOKIE) ? values.first : joined(values, ", ")
      end

      # @return [Array<String>]
      def get_all(name)
        wanted = text(name)
        @pairs.filter_map { |own, value| value if own.casecmp?(wanted) }
      end

      # @return [Boolean]
      def key?(name)
        wanted = text(name)
        @pairs.any? { |own, _| own.casecmp?(wanted) }
      end
      alias include? key?

      # @param name [String, Symbol]
      # @param values [String, #to_s, Array, nil]
      # @return [self]
      # @raise [UsageError]
      def add(name, values)
        @removed = removed | [checked_name(name)] if values.nil?
        Array(values).compact.each { |value| @pairs << [checked_name(name), checked_value(name, value)].freeze }
        self
      end

      # In place of all fields of that name.
      # @return [self]
      # @raise [UsageError]
      def set(name, values)
        delete(name)
        add(name, values)
      end
      alias []= set

      # @return [self]
      def delete(name)
        unwanted = text(name)
        @pairs.reject! { |own, _| own.casecmp?(unwanted) }
        self
      end

      # @param fields [Headers, Hash, Enumerable, nil] take the place of fields of the same name; nil removes one
      # @return [Headers] a new one
      # @raise [UsageError]
      def merge(fields)
        return dup unless fields

        added = Headers.from(fields)
        [*added.map(&:first), *added.removed].each_with_object(dup) { |name, merged| merged.delete(name) }.concat(added)
      end

      # @yieldparam name [String]
      # @yieldparam value [String]
      def each(&block)
        return enum_for(:each) { @pairs.size } unless block

        @pairs.each(&block)
        self
      end

      # @return [Integer] fields
      def size = @pairs.size

      # @return [Boolean]
      def empty? = @pairs.empty?

      # @return [Array<Array(String, String)>]
      def to_a = @pairs.dup

      # @return [Hash{String => String}] names in lower case; several values joined by ", ", Set-Cookie's by a line feed
      def to_h
        @pairs.group_by { |name, _| name.downcase }.to_h do |name, pairs|
          [name, joined(pairs.map(&:last), name == SET_COOKIE ? "\n" : ", ")]
        end
      end

      # @return [String] as they are sent, each line with its end
      def to_s = @pairs.each_with_object("".b) { |(name, value), lines| lines << name << ": " << value.b << "\r\n" }

      # @return [Boolean] whether it has the same fields in the same order
      def ==(other) = other.is_a?(Headers) && to_a == other.to_a

      # @return [self]
      def freeze
        @pairs.freeze
        super
      end

      # @return [String] without passwords, which are not for logs
      def inspect
        "#<#{self.class} #{@pairs.map { |name, value| "#{name}: #{secret?(name) ? "…" : value.inspect}" }.join("; ")}>"
      end

      # @return [Boolean] whether it has a field of that name, or removes one
      # @api private
      def mentions?(name) = key?(name) || removed.any? { |own| own.casecmp?(name) }

      # @return [Array<String>] names of fields to remove from the headers that this is merged into
      # @api private
      def removed = @removed || NONE

      # @api private
      def concat(other)
        @removed = removed | other.removed unless other.removed.empty?
        @pairs.concat(other.to_a)
        self
      end

      private

      def take(pairs) = @pairs = pairs.each(&:freeze)

      def initialize_copy(other)
        super
        @pairs = other.to_a
      end

      def checked_pair(pair)
        return pair if pair.is_a?(Array) && pair.size == 2

        raise UsageError, "headers: takes a Hash or pairs of a name and a value; one of these is #{pair.class}"
      end

      def text(name) = name.is_a?(Symbol) ? name.name.tr("_", "-") : name.to_s

      def checked_name(name)
        name = readable(text(name))
        return name.dup.freeze if Syntax::TOKEN.match?(name.b)

        raise UsageError, "#{name.inspect} can't be the name of a header: letters, digits and !#\$%&'*+-.^_`|~ only " \
                          "(RFC 9110 §5.1)"
      end

      # White space around a value is none of it; a line break is refused there too. By `strip`, because a pattern that ends
      # in \z takes the square of the time.
      def checked_value(name, value)
        value = readable(value.to_s)
        bytes = value.b
        place = bytes.index(Syntax::CONTROL) or return value.strip.freeze
        raise UsageError, "the header #{readable(text(name))} has the byte #{bytes[place].inspect} at position #{place}, " \
                          "which no value may have (RFC 9110 §5.5)"
      end

      # In an encoding in which ASCII is ASCII.
      def readable(text)
        text = text.encode(Encoding::UTF_8) unless text.encoding.ascii_compatible?
        text.valid_encoding? ? text : text.b
      rescue EncodingError
        text.b
      end

      # Values may be in UTF-8 or in an unknown encoding.
      def joined(values, separator)
        values.join(separator)
      rescue Encoding::CompatibilityError
        values.map(&:b).join(separator)
      end

      def secret?(name) = name.match?(/\A(?:proxy-)?authorization\z|cookie/i)
    end
  end
end
