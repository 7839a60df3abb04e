# frozen_string_literal: true

require "uri"
require "plait/values/errors"

module Plait
  module DB
    # What a URL says of a database.
    class Address
      # Not "007", which is a name.
      NUMBER = /\A(?:0|[1-9]\d*)(\.\d+)?\z/
      WORDS = { "true" => true, "false" => false }.freeze
      private_constant :NUMBER, :WORDS

      # @return [String] the part before "://" (or, with a file, before ":")
      attr_reader :scheme
      # @return [String] all of it
      attr_reader :url
      # @return [Hash{Symbol => Object}] what stands behind the "?"; numbers, true and false as such
      attr_reader :options

      # @param url [String]
      # @return [Address]
      # @raise [UsageError]
      def self.parse(url)
        scheme = url.to_s[/\A[a-z][a-z0-9+]*(?=:)/]
        raise UsageError, "a database's URL looks like \"postgres://user@host/name\", not #{url.inspect}" unless scheme

        new(scheme, url.to_s)
      end

      # @api private
      def initialize(scheme, url)
        @scheme = scheme
        @url = url
        @rest, query = url.delete_prefix("#{scheme}:").split("?", 2)
        @options = URI.decode_www_form(query.to_s).to_h { |name, value| [name.to_sym, value(value)] }
      end

      # @return [String, nil]
      def user = decode(uri.user)

      # @return [String, nil]
      def password = decode(uri.password)

      # @return [String, nil] an address of IPv6 without its brackets
      def host = uri.hostname.to_s.empty? ? nil : uri.hostname

      # @return [Integer, nil]
      def port = uri.port

      # @return [String, nil] the path without its first slash
      def database = uri.path.to_s.delete_prefix("/").then { |name| name.empty? ? nil : decode(name) }

      # @return [String] of a file: what follows the scheme
      # @raise [UsageError]
      def file
        name = @rest.to_s.delete_prefix("//")
        raise UsageError, "#{@scheme}: needs the name of a file, as in #{@scheme}:shop.db" if name.empty?

        decode(name)
      end

      # @return [String] how errors call it: without the password
      def to_s = @url.sub(%r{(?<=//)([^/@:]*):.*@}m, '\1@').sub(/\?.*/m, "")

      private

      # The scheme must have no meaning for URI: a "+" in it or a port of its own.
      def uri
        @uri ||= URI.parse("db:#{@rest}")
      rescue URI::InvalidURIError
        raise UsageError, "#{self} is no URL: write what is special in a name or a password as %XX"
      end

      def decode(text) = text && URI.decode_www_form_component(text.gsub("+", "%2B"))

      def value(text)
        return WORDS[text] if WORDS.key?(text)

        return text unless NUMBER.match?(text)

        text.include?(".") ? Float(text) : Integer(text, 10)
      end
    end
  end
end
