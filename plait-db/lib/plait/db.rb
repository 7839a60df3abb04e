# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:DB, __FILE__) if Plait.autoload?(:DB)

require "uri"
require_relative "db/errors"
require_relative "db/result"
require_relative "db/driver"
require_relative "db/session"

module Plait
  # Databases by their usual drivers, under every mechanism: a pool of connections, plain calls, and the driver's own API
  # underneath.
  #
  # @example
  #   db = Plait::DB.connect("trilogy://root@127.0.0.1:3306/shop", size: 16)
  #   db.query("SELECT name FROM users WHERE id = ?", 7).first["name"]
  #   db.transaction { |tx| tx.query("UPDATE users SET seen = seen + 1 WHERE id = ?", 7) }
  #   Plait.map(ids, on: :fibers) { |id| db.query("SELECT * FROM users WHERE id = ?", id).to_a }
  #   db.with { |trilogy| trilogy.server_info }
  module DB
    # The parts of a database's URL.
    # @api private
    class Address
      # A number as an option's value; "007" is a name.
      NUMBER = /\A(?:0|[1-9]\d*)(\.\d+)?\z/
      WORDS = { "true" => true, "false" => false }.freeze
      # A host with its port, and all behind the scheme; drivers take several hosts.
      HOST = %r{(?:\[[^/?@\[\]]*\]|(?:[^/?@%\[\]:,]|%(?!00)\h\h)*)(?::\d*)?}
      PLACE = %r{\A//(?:(?:[^/?@%]|%(?!00)\h\h)*@)?#{HOST}(?:,#{HOST})*(?:/(?:[^?@%]|%(?!00)\h\h)*)?\z}
      private_constant :NUMBER, :WORDS, :HOST, :PLACE

      # @return [String] the part before "://" (or, with a file, before ":")
      attr_reader :scheme
      # @return [String] all of it
      attr_reader :url
      # @return [Hash{Symbol => Object}] the options behind the "?"; numbers, true and false are decoded
      attr_reader :options

      # @raise [UsageError]
      def self.parse(url)
        scheme = url.to_s[/\A[a-z][a-z0-9+]*(?=:)/]
        unless scheme
          raise UsageError, "a database's URL looks like \"postgres://user@host/name\", not #{Secrets.hide(url.inspect)}"
        end

        new(scheme, url.to_s)
      end

      def initialize(scheme, url)
        @scheme = scheme
        @url = url
        @rest, query = url.delete_prefix("#{scheme}:").split("?", 2)
        @options = URI.decode_www_form(query.to_s).to_h { |name, value| [name.to_sym, value(value)] }
      end

      # The URL of a server: drivers show a wrong one, with its password, in their errors. A "?" of a password begins options.
      # @return [Address] this one
      # @raise [UsageError]
      def check = PLACE.match?(@rest) && @options.keys.all?(/\A\w+\z/) ? self : wrong

      def user = decode(uri.user)

      def password = decode(uri.password)

      # @return [String, nil] an address of IPv6 without its brackets
      def host = uri.hostname.to_s.empty? ? nil : uri.hostname

      def port = uri.port

      # @return [String, nil] the path without its first slash
      def database = uri.path.to_s.delete_prefix("/").then { |name| name.empty? ? nil : decode(name) }

      # @return [String] the name of a file, behind the scheme
      # @raise [UsageError]
      def file
        name = @rest.to_s.delete_prefix("//")
        raise UsageError, "#{@scheme}: needs the name of a file, as in #{@scheme}:shop.db" if name.empty?

        decode(name)
      end

      # @return [String] its name in errors: the URL without the password
      def to_s = @url.sub(%r{(?<=//)([^/@:]*):.*@}m, '\1@').sub(/\?.*/m, "")

      private

      # URI would take a "+" in the scheme for an error, and knows default ports of some schemes.
      def uri
        @uri ||= URI.parse("db:#{@rest}")
      rescue URI::InvalidURIError
        wrong
      end

      # Without the URL: where the password ends is not known.
      def wrong
        raise UsageError, "this is no URL of #{@scheme}: write special characters in a name or a password as %XX", cause: nil
      end

      def decode(text) = text && URI.decode_www_form_component(text.gsub("+", "%2B"))

      def value(text)
        return WORDS[text] if WORDS.key?(text)

        return text unless NUMBER.match?(text)

        text.include?(".") ? Float(text) : Integer(text, 10)
      end
    end

    private_constant :Address

    @bridges = {}

    # Adds a bridge: a subclass of Session, whose comments list the methods to define.
    # @param name [Symbol] of its constant in this module
    # @param schemes [Array<String>] of its URLs
    # @param file [String] required at the first such URL: it loads the driver
    # @return [void]
    def self.register(name, *schemes, file: File.expand_path("db/#{name.downcase}", __dir__))
      schemes.each { |scheme| @bridges[scheme] = [name, file] }
    end

    register(:Mysql2, "mysql2")
    register(:Trilogy, "trilogy")
    register(:Postgres, "postgres", "postgresql")
    register(:Sqlite, "sqlite", "sqlite3")
    register(:Redis, "redis", "rediss")
    register(:Mongo, "mongodb", "mongodb+srv")

    # Opens a database; its first connection is made at the first call.
    # @param url [String] "mysql2://…", "trilogy://…", "postgres://…", "mongodb://…", "sqlite:FILE" or "redis://…", as
    #   "scheme://user:password@host:port/database?option=value"
    # @param options [Hash] of the pool, see {Pool#initialize}; all others, and options in the URL, are the driver's own
    # @yieldparam database [Database, Mongo] closed after the block
    # @return [Database, Mongo]; with a block: the block's value
    # @raise [UsageError] when the URL or an option of the pool is wrong
    # @raise [UnsupportedError] when the driver's gem is missing
    def self.connect(url, **options)
      address = Address.parse(url)
      database = bridge(address.scheme).open(address, options)
      return database unless block_given?

      begin
        yield database
      ensure
        database.close
      end
    end

    # Requires the bridge, which loads its driver.
    def self.bridge(scheme)
      name, file = @bridges.fetch(scheme) do
        raise UsageError, "there is no bridge for #{scheme.inspect}: a URL begins with #{@bridges.keys.join(", ")}"
      end
      require file
      const_get(name)
    end
    private_class_method :bridge
  end
end
