# frozen_string_literal: true

require "connection_pool"
require "uri"

# The drivers as everybody uses them under a server: connection_pool around each driver's own API.
module Pooled
  module_function

  # @param url [String] whose scheme is the driver's
  # @param size [Integer] connections
  # @return [Proc] sql => the value of the first row
  def value(url, size)
    uri = URI(url)
    connect, ask = send(uri.scheme, uri)
    pool = ConnectionPool.new(size: size, timeout: 60, &connect)
    ->(sql) { pool.with { |connection| ask.call(connection, sql) } }
  end

  def trilogy(uri)
    require "trilogy"
    [-> { Trilogy.new(**about(uri)) }, ->(connection, sql) { connection.query(sql).rows.dig(0, 0) }]
  end

  def mysql2(uri)
    require "mysql2"
    [-> { Mysql2::Client.new(**about(uri)) }, ->(connection, sql) { connection.query(sql, as: :array).first.first }]
  end

  def postgres(uri)
    require "pg"
    [-> { PG.connect(uri.to_s) }, ->(connection, sql) { connection.exec(sql) { |result| result.getvalue(0, 0) } }]
  end

  def about(uri) = { host: uri.host, port: uri.port, username: uri.user, database: uri.path.delete_prefix("/") }
end
