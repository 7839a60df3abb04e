# frozen_string_literal: true

require_relative "mysql"

Plait::DB::Driver.load("trilogy", "~> 2.8") { require "trilogy" }

module Plait
  module DB
    # MySQL and MariaDB by trilogy, which waits in Ruby: it never blocks the loop. It has no prepared statements: values become
    # part of the text, escaped by the driver. It reads a whole result, also in {Database#stream}.
    class Trilogy < Session
      include Mysql

      OPTIONS = %i[connect_timeout database enable_cleartext_plugin encoding found_rows host keepalive_count keepalive_enabled
                   keepalive_idle keepalive_interval max_allowed_packet multi_result multi_statement password port read_timeout
                   socket ssl ssl_ca ssl_capath ssl_cert ssl_cipher ssl_crl ssl_crlpath ssl_key ssl_mode tls_ciphersuites
                   tls_max_version tls_min_version username write_timeout].freeze

      def self.errors = super + [::Trilogy::Error]

      def self.known_options = OPTIONS

      # The whole result arrives before the first row: an exit of the block leaves the connection intact.
      def stream(sql, *values, &block)
        Driver.each_in_turns(query(sql, *values), &block)
        nil
      end

      private

      # Other drivers' names of the modes of TLS.
      SSL_MODES = {
        "disabled" => :SSL_DISABLED, "preferred" => :SSL_PREFERRED_NOVERIFY, "required" => :SSL_REQUIRED_NOVERIFY,
        "verify_ca" => :SSL_VERIFY_CA, "verify_identity" => :SSL_VERIFY_IDENTITY
      }.freeze
      private_constant :OPTIONS, :SSL_MODES

      def connect(**haste)
        refuse(:multi_statement, "a query answers with one result, and the others would be lost")
        ::Trilogy.new(about(**haste))
      end

      # @return [Hash] the options, with the driver's name of the mode of TLS
      def tls
        mode = @options[:ssl_mode] || (@options[:ssl] == true ? "required" : nil)
        return @options.except(:ssl, :ssl_mode) if mode.nil?
        return @options if mode.is_a?(Integer)

        name = SSL_MODES.fetch(mode.to_s) { raise UsageError, "ssl_mode: is one of #{SSL_MODES.keys.join(", ")}, not #{mode}" }
        { **@options.except(:ssl), ssl_mode: ::Trilogy.const_get(name) }
      end

      # A procedure answers with several results. The next caller would get an unread one.
      def ask(driver, sql, values)
        found = driver.query(fill(driver, sql, values))
        driver.next_result while driver.more_results_exist?
        Result.new(found.fields, found.rows, affected: found.affected_rows, last_id: found.last_insert_id)
      end

      def ask_prepared(driver, sql, values) = ask(driver, sql, values)

      def ping(driver) = driver.ping

      def answer?(error) = error.is_a?(::Trilogy::BaseError) && !error.is_a?(::Trilogy::ConnectionError)

      def ended?(error) = error.is_a?(::Trilogy::Error) && !error.is_a?(::Trilogy::TimeoutError)

      def idle?(driver) = !driver.closed? && !driver.in_transaction?

      def rolled_back?(error) = error.is_a?(::Trilogy::BaseError) && deadlock?(error.error_code)

      # DATETIME is read as UTC.
      def zone = :utc

      def forget(driver) = driver.discard!
    end
  end
end
