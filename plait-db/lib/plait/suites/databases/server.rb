# frozen_string_literal: true

require "etc"
require "fileutils"
require "tmpdir"
require "plait/suites/common/own_server"
require "plait/suites/common/programs"
require_relative "../../db"

module Plait
  module Suites
    class Databases < Suite
      # A database server: a user's own, or one that the suite starts. The suite makes a table in it and drops it.
      class Server
        TABLE = "plait_lab_people"
        ROWS = 100_000
        GROUPS = 100
        # Rows of the range.
        RANGE = 10
        HOST = OwnServer::HOST

        # @param url [String, nil] of a user's own server
        def initialize(url = nil)
          @url = url
        end

        # @return [Boolean] whether its programs are here
        def installed? = self.class::PROGRAMS.all? { |name| program(name) }

        # @return [Array<String>] the schemes of the drivers that are installed
        def ways
          found = self.class::GEMS.select { |_, gem| Gem::Specification.find_all_by_name(gem).any? }.keys
          @url && found.any? ? [@url[/\A\w+/]] : found
        end

        def name = self.class::NAME

        def title = self.class::TITLE

        def url(way) = @url || format(self.class::URL, way: way, host: HOST, port: @server.port)

        # @return [String, nil] what stands in a FROM and takes its time, once
        def pause(seconds) = seconds.zero? ? nil : format(self.class::PAUSE, seconds)

        # @return [Array<Numeric>] seconds that queries of this server can wait
        def latencies(wanted) = wanted

        # @param db [DB::Database]
        # @param pause [String, nil] see {pause}
        # @return [Array(String, Integer, Integer)] name, sum of a range, people of a team
        def ask(db, number, pause)
          from = [TABLE, *pause].join(", ")
          name, sum, count = ["SELECT name FROM #{from} WHERE id = #{key(number)}",
                              "SELECT SUM(id) FROM #{from} WHERE id BETWEEN #{key(number)} AND #{key(number) + RANGE - 1}",
                              "SELECT COUNT(*) FROM #{from} WHERE team = #{number % GROUPS}"].map { |sql| db.query(sql).value }
          [name, Integer(sum), Integer(count)]
        end

        # Starts the server, fills the table, yields, stops the server.
        # @raise [UnsupportedError] when it does not start
        def around(&block) = @url ? fill(&block) : start { fill(&block) }

        private

        def key(number) = (number * 7919 % (ROWS - RANGE)) + 1

        def fill
          DB.connect(url(ways.first)) do |db|
            clean(db) # of a run that was killed
            insert(db)
            yield
          ensure
            clean(db)
          end
        end

        def insert(db)
          db.query("CREATE TABLE #{TABLE} (id INTEGER PRIMARY KEY, name VARCHAR(20), team INTEGER)")
          db.query("INSERT INTO #{TABLE} SELECT n, CONCAT('name', n), n % #{GROUPS} FROM #{self.class::NUMBERS}")
          db.query("CREATE INDEX #{TABLE}_team ON #{TABLE} (team)")
        end

        def clean(db) = db.query("DROP TABLE IF EXISTS #{TABLE}")

        def start
          Dir.mktmpdir("plait-lab-") do |folder|
            @folder = folder
            @server = OwnServer.new(folder, signal: self.class::SIGNAL)
            prepare(data = File.join(folder, "data"))
            @server.start(*command(data)) { ready? }
            yield
          ensure
            @server&.stop
          end
        end

        def program(name) = Programs.find(name)

        def ready?
          DB.connect(url(ways.first), connect_timeout: 1) { |db| db.query("SELECT 1") }
        rescue StandardError
          false
        end
      end

      # A MariaDB with the user root, no password and the database "lab".
      class Mariadb < Server
        NAME = "mariadb"
        TITLE = "MariaDB"
        PROGRAMS = %w[mariadbd mariadb-install-db].freeze
        GEMS = { "trilogy" => "trilogy", "mysql2" => "mysql2" }.freeze
        URL = "%<way>s://root@%<host>s:%<port>d/lab"
        SIGNAL = "TERM"
        PAUSE = "(SELECT SLEEP(%g)) pause"
        NUMBERS = "(SELECT seq AS n FROM seq_1_to_#{ROWS}) numbers".freeze

        private

        # Without a name it refuses to run as root.
        def options(data) = ["--no-defaults", "--datadir=#{data}", "--user=#{Etc.getpwuid.name}"]

        def prepare(data)
          @server.prepare(program(PROGRAMS.last), *options(data), "--skip-test-db",
                          "--auth-root-authentication-method=normal")
          Dir.mkdir(File.join(data, "lab"))
        end

        def command(data)
          [program(PROGRAMS.first), *options(data), "--port=#{@server.port}", "--bind-address=#{HOST}",
           "--socket=#{@folder}/socket", "--pid-file=#{@folder}/pid", "--innodb-flush-log-at-trx-commit=0",
           "--max-connections=1000"]
        end
      end

      # A PostgreSQL with the user "postgres" and no password. It refuses to run as root: there it runs as its package's user.
      class Postgres < Server
        NAME = "postgresql"
        TITLE = "PostgreSQL"
        PROGRAMS = %w[postgres initdb].freeze
        GEMS = { "postgres" => "pg" }.freeze
        URL = "%<way>s://postgres@%<host>s:%<port>d/postgres"
        # It ends the sessions; SIGTERM would wait for them.
        SIGNAL = "INT"
        PAUSE = "pg_sleep(%g) pause"
        NUMBERS = "generate_series(1, #{ROWS}) n".freeze

        private

        # Without a warning about a table that is not there.
        def clean(db) = db.query("SET client_min_messages TO warning") && super

        def prepare(data)
          FileUtils.chown(account.uid, account.gid, @folder) if Process.uid.zero?
          @server.prepare(*as_account, program("initdb"), "--pgdata=#{data}", "--username=postgres", "--auth=trust",
                          "--encoding=UTF8", "--locale=C", "--no-sync")
        end

        def command(data)
          [*as_account, program("postgres"), "-D", data, "-p", @server.port.to_s, "-h", HOST, "-k", @folder, "-F",
           "-c", "max_connections=400"]
        end

        def account = Etc.passwd { |entry| break entry if entry.name == "postgres" } || Etc.getpwnam("nobody")

        # setpriv becomes the program: the pid is the server's.
        def as_account
          return [] unless Process.uid.zero?

          [program("setpriv"), "--reuid=#{account.uid}", "--regid=#{account.gid}", "--clear-groups", "--"]
        end
      end

      # A user's MongoDB. None is started, and no query of it waits.
      class Mongo < Server
        NAME = "mongodb"
        TITLE = "MongoDB"
        GEMS = { "mongodb" => "mongo" }.freeze

        def pause(_seconds) = nil

        def latencies(_wanted) = [0]

        def ask(db, number, _pause)
          db.with do |client|
            people = client[TABLE]
            [people.find({ _id: key(number) }).first[:name],
             people.find({ _id: { "$in" => [*key(number)...(key(number) + RANGE)] } }).sum { |one| one[:_id] },
             people.find({ team: number % GROUPS }).projection({ _id: 1 }).count]
          end
        end

        private

        def insert(db)
          db.with do |client|
            people = (1..ROWS).map { |n| { _id: n, name: "name#{n}", team: n % GROUPS } }
            people.each_slice(10_000) { |some| client[TABLE].insert_many(some) }
            client[TABLE].indexes.create_one({ team: 1 })
          end
        end

        def clean(db) = db.with { |client| client[TABLE].drop }
      end
    end
  end
end
