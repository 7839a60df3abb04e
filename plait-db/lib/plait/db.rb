# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:DB, __FILE__) if Plait.autoload?(:DB)

require_relative "db/address"
require_relative "db/connection_in_use"
require_relative "db/database"
require_relative "db/result"
require_relative "db/rolled_back"
require_relative "db/transaction"
require "plait/values/errors"

module Plait
  # Databases, by the drivers that everybody uses, under every mechanism: a pool of connections, plain calls, and the driver's
  # own API underneath.
  #
  # @example
  #   db = Plait::DB.connect("trilogy://root@127.0.0.1:3306/shop", size: 16)
  #   db.query("SELECT name FROM users WHERE id = ?", 7).first["name"]
  #   db.transaction { |tx| tx.query("UPDATE users SET seen = seen + 1 WHERE id = ?", 7) }
  #   Plait.map(ids, on: :fibers) { |id| db.query("SELECT * FROM users WHERE id = ?", id).to_a }
  #   db.with { |trilogy| trilogy.server_info }
  module DB
    # The bridges, by the scheme of a URL.
    BRIDGES = {
      "mysql2" => :Mysql2, "trilogy" => :Trilogy, "postgres" => :Postgres, "postgresql" => :Postgres,
      "sqlite" => :Sqlite, "sqlite3" => :Sqlite, "redis" => :Redis, "rediss" => :Redis,
      "mongodb" => :Mongo, "mongodb+srv" => :Mongo
    }.freeze
    private_constant :BRIDGES

    # Connects when a connection is first needed.
    # @param url [String] "mysql2://…", "trilogy://…", "postgres://…", "mongodb://…", "sqlite:FILE" or "redis://…", as
    #   "scheme://user:password@host:port/database?option=value"
    # @param options [Hash] of the pool, see {Pool#initialize}; all others, and those in the URL, are the driver's own
    # @yieldparam database [Database, Mongo] closed after the block
    # @return [Database, Mongo]; with a block: what the block returns
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

    # A bridge loads its driver: it is for programs that use it.
    def self.bridge(scheme)
      name = BRIDGES.fetch(scheme) do
        raise UsageError, "there is no bridge for #{scheme.inspect}: a URL begins with #{BRIDGES.keys.join(", ")}"
      end
      require_relative "db/#{name.downcase}"
      const_get(name)
    end
    private_class_method :bridge
  end
end
