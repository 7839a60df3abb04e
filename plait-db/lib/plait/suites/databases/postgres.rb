# frozen_string_literal: true

require_relative "people"
require_relative "server"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Databases < Suite
      # A PostgreSQL with the user "postgres" and no password. It refuses to run as root: there it runs as the user of its
      # package.
      class Postgres < Server
        PROGRAMS = [%w[postgres], %w[initdb]].freeze
        FOLDERS_OF_ITS_OWN = %w[/usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin].freeze
        WAYS = { "postgres" => "pg" }.freeze
        GEMS = { "postgres" => %w[pg] }.freeze
        # It ends the sessions; SIGTERM would wait for them.
        STOP = :INT

        # @return [String]
        def name = "postgresql"

        # @return [String]
        def title = "PostgreSQL"

        # @return [String]
        def url(_way) = "postgres://postgres@#{HOST}:#{@port}/postgres"

        # @return [String] what stands in a FROM and takes its time, once
        def pause(seconds) = "pg_sleep(#{seconds}) pause"

        # Without a word about a table that is not there.
        # @param db [DB::Database]
        def clean(db)
          db.query("SET client_min_messages TO warning")
          super
        end

        private

        def series = "generate_series(1, #{People::ROWS}) n"

        def data = File.join(@folder, "data")

        def prepare
          FileUtils.chown(account.uid, account.gid, @folder) if Process.uid.zero?
          run!(*as_somebody, program("initdb"), "--pgdata=#{data}", "--username=postgres", "--auth=trust", "--encoding=UTF8",
               "--locale=C", "--no-sync")
        end

        def command
          [*as_somebody, program("postgres"), "-D", data, "-p", @port.to_s, "-h", HOST, "-k", @folder, "-F",
           "-c", "max_connections=400"]
        end

        def account = Etc.passwd { |entry| break entry if entry.name == "postgres" } || Etc.getpwnam("nobody")

        # setpriv becomes the program: the pid is the server's.
        def as_somebody
          return [] unless Process.uid.zero?

          [program("setpriv"), "--reuid=#{account.uid}", "--regid=#{account.gid}", "--clear-groups", "--"]
        end
      end
    end
  end
end
