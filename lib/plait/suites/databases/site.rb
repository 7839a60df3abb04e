# frozen_string_literal: true

require_relative "mariadb"
require_relative "people"
require_relative "postgres"
require_relative "server"
require_relative "../suite"
require_relative "../../db"
require_relative "../../values/errors"

module Plait
  module Suites
    class Databases < Suite
      # Somebody's own server: a table of ours is made in it, and dropped afterwards.
      class Site
        KINDS = { "trilogy" => Mariadb, "mysql2" => Mariadb, "postgres" => Postgres, "postgresql" => Postgres }.freeze
        private_constant :KINDS

        # @param url [String]
        # @raise [UsageError]
        def initialize(url)
          @url = url
          @scheme = url[/\A\w+(?=:)/]
          kind = KINDS.fetch(@scheme) do
            raise UsageError, "#{url.inspect} is no database of this suite: give one like #{KINDS.keys.join("://…, ")}://…"
          end
          @kind = kind.new
        end

        # @return [String]
        def name = @kind.name

        # @return [String]
        def title = @kind.title

        # @return [Array<String>]
        def ways = [@scheme]

        # @return [String]
        def url(_way) = @url

        # @return [String] see {Server}
        def pause(seconds) = @kind.pause(seconds)

        # Fills the table, yields, drops it.
        def around
          DB.connect(@url) do |db|
            db.query("DROP TABLE IF EXISTS #{People::TABLE}") # of a run that was killed
            @kind.fill(db)
            yield
          ensure
            db.query("DROP TABLE IF EXISTS #{People::TABLE}")
          end
        end
      end
    end
  end
end
