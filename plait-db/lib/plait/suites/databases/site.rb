# frozen_string_literal: true

require_relative "mariadb"
require_relative "mongo"
require_relative "people"
require_relative "postgres"
require_relative "server"
require "plait/suites/common/suite"
require_relative "../../db"
require "plait/values/errors"

module Plait
  module Suites
    class Databases < Suite
      # Somebody's own server: a table of ours is made in it, and dropped afterwards.
      class Site
        KINDS = { "trilogy" => Mariadb, "mysql2" => Mariadb, "postgres" => Postgres, "postgresql" => Postgres,
                  "mongodb" => Mongo }.freeze
        private_constant :KINDS

        # @param url [String]
        # @raise [UsageError]
        def initialize(url)
          @url = url
          @scheme = url[/\A\w+(?=:)/]
          kind = KINDS.fetch(@scheme) do
            raise UsageError, "#{@scheme ? "#{@scheme}://…" : "what has no ://"} is no database of this suite: give one like " \
                              "#{KINDS.keys.join("://…, ")}://…"
          end
          @kind = kind.new
        end

        # @return [Boolean]
        def installed? = true

        # @return [String]
        def name = @kind.name

        # @return [String]
        def title = @scheme == "mongodb" ? "MongoDB" : @kind.title

        # @return [Array<String>]
        def ways = @kind.ways.any? ? [@scheme] : []

        # @return [String]
        def url(_way) = @url

        # @return [String] see {Server}
        def pause(seconds) = @kind.pause(seconds)

        # @return [Numeric] see {Server}
        def most = Float::INFINITY

        # @return [Array<String>] see {Server}
        def gems(way) = @kind.gems(@kind.class::GEMS.key?(way) ? way : @kind.class::GEMS.keys.first)

        # Fills the table, yields, drops it.
        def around
          DB.connect(@url) do |db|
            @kind.fill(db)
            yield
          ensure
            @kind.clean(db)
          end
        end
      end
    end
  end
end
