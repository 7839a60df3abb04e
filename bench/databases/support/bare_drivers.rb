# frozen_string_literal: true

require "uri"

module Bench
  module Databases
    # The drivers under Plait::DB, each as its own guide writes it.
    module BareDrivers
      # By the scheme of a URL.
      GEMS = { "trilogy" => "trilogy", "mysql2" => "mysql2", "postgres" => "pg", "sqlite" => "sqlite3",
               "redis" => "redis-client" }.freeze
      CONNECT = {
        "trilogy" => ->(uri) { Trilogy.new(host: uri.host, port: uri.port, username: uri.user, database: uri.path[1..]) },
        "mysql2" => ->(uri) { Mysql2::Client.new(host: uri.host, port: uri.port, username: uri.user, database: uri.path[1..]) },
        "postgres" => ->(uri) { PG.connect(uri.to_s) },
        "sqlite" => ->(_) { SQLite3::Database.new(":memory:") },
        "redis" => ->(uri) { RedisClient.config(url: uri.to_s).new_client }
      }.freeze
      # The first values of all rows; of Redis the value.
      VALUES = {
        "trilogy" => ->(connection, sql) { connection.query(sql).map(&:first) },
        "mysql2" => ->(connection, sql) { connection.query(sql).map { |row| row["name"] } },
        "postgres" => ->(connection, sql) { connection.exec(sql).map { |row| row["name"] } },
        "sqlite" => ->(connection, sql) { connection.execute(sql).map(&:first) },
        "redis" => ->(connection, *words) { [connection.call(*words)] }
      }.freeze
      private_constant :CONNECT, :VALUES

      module_function

      # @param driver [String] the scheme of a URL
      # @return [String, nil] of a server that run.rb has started; nil: the database is in this process
      def url(driver) = driver == "sqlite" ? nil : ENV.fetch("PLAIT_BENCH_#{driver.upcase}")

      # @return [Object] a connection of the driver
      def connect(driver)
        require GEMS.fetch(driver).tr("-", "_")
        CONNECT.fetch(driver).call(URI(url(driver).to_s))
      end

      def values(driver, connection, *words) = VALUES.fetch(driver).call(connection, *words)
    end
  end
end
