# frozen_string_literal: true

require "securerandom"
require_relative "cookie"
require "plait/values/errors"

module Plait
  module HTTP
    class CookieJar
      # Netscape's file of cookies, with the prefix #HttpOnly_ that curl and browsers' tools add: a line a cookie, its fields
      # divided by tabs.
      module FileFormat
        HEADER = "# Netscape HTTP Cookie File\n"
        FIELDS = "domain, TRUE or FALSE, path, TRUE or FALSE, seconds, name, value"
        HTTP_ONLY = "#HttpOnly_"
        private_constant :HEADER, :FIELDS, :HTTP_ONLY

        module_function

        # @param path [String]
        # @param cookies [Enumerable<Cookie>]
        # @return [void]
        # @raise [SystemCallError]
        def write(path, cookies)
          temporary = "#{path}.#{SecureRandom.hex(6)}"
          File.open(temporary, File::WRONLY | File::CREAT | File::EXCL, 0o600) do |file|
            file.binmode
            file << HEADER
            cookies.each { |cookie| file << line(cookie) }
          end
          File.rename(temporary, path)
        ensure
          File.delete(temporary) if temporary && File.exist?(temporary)
        end

        # @param path [String]
        # @return [Array<Cookie>]
        # @raise [UsageError]
        # @raise [SystemCallError]
        def read(path)
          File.binread(path).each_line(chomp: true).with_index(1).filter_map do |line, number|
            next if line.strip.empty? || (line.start_with?("#") && !line.start_with?(HTTP_ONLY))

            parse(line.delete_suffix("\r")) or raise UsageError, "#{path}:#{number} is no cookie: its fields are #{FIELDS}, " \
                                                                 "divided by tabs"
          end
        end

        # @api private
        def line(cookie)
          domain = "#{HTTP_ONLY if cookie.http_only}#{"." unless cookie.host_only}#{cookie.domain}"
          fields = [domain, flag(!cookie.host_only), cookie.path, flag(cookie.secure), cookie.expires.to_i, cookie.name,
                    cookie.value]
          "#{fields.join("\t")}\n".b
        end

        # @api private
        # @return [Cookie, nil]
        def parse(line)
          domain, below, path, secure, seconds, name, value = line.delete_prefix(HTTP_ONLY).split("\t", 7)
          return unless value && seconds.match?(/\A\d+\z/) && path.start_with?("/") && [below, secure].all?(/\A(?:TRUE|FALSE)\z/i)

          Cookie.new(name: name, value: value, domain: domain.delete_prefix(".").downcase, path: path,
                     expires: seconds.to_i.zero? ? nil : Time.at(seconds.to_i), secure: secure.casecmp?("TRUE"),
                     http_only: line.start_with?(HTTP_ONLY), host_only: below.casecmp?("FALSE"))
        end

        # @api private
        def flag(truth) = truth ? "TRUE" : "FALSE"
      end
    end
  end
end
