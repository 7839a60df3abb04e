# frozen_string_literal: true

require "etc"
require "fileutils"
require "socket"
require "tmpdir"
require_relative "people"
require "plait/suites/common/suite"
require "plait/suites/common/unreachable_origin"
require_relative "../../db"
require "plait/values/deadline"

module Plait
  module Suites
    class Databases < Suite
      # A database server of our own: on a free port of the loopback, its files in a temporary folder, ended with what it is
      # for. A subclass says what to run.
      class Server
        HOST = "127.0.0.1"
        START_SECONDS = 60
        STOP_SECONDS = 15
        FOLDERS = %w[/usr/sbin /usr/local/sbin].freeze
        private_constant :START_SECONDS, :STOP_SECONDS, :FOLDERS

        # @return [Boolean] whether its programs are here
        def installed? = self.class::PROGRAMS.all? { |names| program(*names) }

        # @return [Array<String>] the schemes of the drivers that are installed
        def ways = self.class::WAYS.select { |_, gem| Gem::Specification.find_all_by_name(gem).any? }.keys

        # Starts it, fills it, yields, ends it.
        # @raise [UnreachableOrigin] when it does not start
        def around
          Dir.mktmpdir("plait-lab-") do |folder|
            @folder = folder
            @port = TCPServer.open(HOST, 0) { |socket| socket.addr[1] }
            prepare
            @pid = run(*command)
            await
            DB.connect(url(ways.first)) { |db| fill(db) }
            yield
          ensure
            stop
          end
        end

        # @return [Numeric] connections to the app at once for which it is any good
        def most = Float::INFINITY

        # @param way [String]
        # @return [Array<String>] the gems that its driver needs
        def gems(way) = self.class::GEMS.fetch(way)

        # Makes the table.
        # @param db [DB::Database]
        def fill(db)
          clean(db) # of a run that was killed
          db.query("CREATE TABLE #{People::TABLE} (id INTEGER PRIMARY KEY, name VARCHAR(20), team INTEGER)")
          db.query("INSERT INTO #{People::TABLE} SELECT n, CONCAT('name', n), n % #{People::GROUPS} FROM #{series}")
          db.query("CREATE INDEX #{People::TABLE}_team ON #{People::TABLE} (team)")
        end

        # @param db [DB::Database]
        def clean(db) = db.query("DROP TABLE IF EXISTS #{People::TABLE}")

        private

        def program(*names)
          folders = ENV["PATH"].split(":") + FOLDERS + self.class::FOLDERS_OF_ITS_OWN.flat_map { |glob| Dir[glob].reverse }
          names.flat_map { |name| folders.map { |folder| File.join(folder, name) } }.find { |file| File.executable?(file) }
        end

        # A group of its own: Ctrl-C at the terminal is for us, who end it in order.
        def run(*command) = Process.spawn(*command, in: File::NULL, %i[out err] => [log, "a"], chdir: @folder, pgroup: true)

        def run!(*command)
          Process.wait(run(*command))
          raise UnreachableOrigin, "#{command.first} failed:\n#{File.read(log)}" unless Process.last_status.success?
        end

        def log = File.join(@folder, "log")

        def await
          deadline = Deadline.after(START_SECONDS)
          until ready?
            if deadline.expired? || Process.waitpid(@pid, Process::WNOHANG)
              raise UnreachableOrigin, "#{title} did not start:\n#{File.read(log)}"
            end

            sleep(0.05)
          end
        end

        def ready?
          DB.connect(url(ways.first), connect_timeout: 1) { |db| db.query("SELECT 1") }
        rescue StandardError
          false
        end

        def stop
          return unless @pid

          Process.kill(self.class::STOP, @pid)
          deadline = Deadline.after(STOP_SECONDS)
          sleep(0.02) until (ended = Process.waitpid(@pid, Process::WNOHANG)) || deadline.expired?
          Process.kill(:KILL, @pid) && Process.wait(@pid) unless ended
        rescue SystemCallError
          nil # it has ended by itself
        ensure
          @pid = nil
        end
      end
    end
  end
end
