# frozen_string_literal: true

require_relative "people"
require_relative "server"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Databases < Suite
      # A MariaDB with the user root, no password and the database "lab".
      class Mariadb < Server
        PROGRAMS = [%w[mariadbd mysqld], %w[mariadb-install-db mysql_install_db]].freeze
        FOLDERS_OF_ITS_OWN = [].freeze
        WAYS = { "trilogy" => "trilogy", "mysql2" => "mysql2" }.freeze
        GEMS = { "trilogy" => %w[trilogy bigdecimal], "mysql2" => %w[mysql2 bigdecimal] }.freeze
        STOP = :TERM

        # @return [String]
        def name = "mariadb"

        # @return [String]
        def title = "MariaDB"

        # @return [String]
        def url(way) = "#{way}://root@#{HOST}:#{@port}/lab"

        # @return [String] what stands in a FROM and takes its time, once
        def pause(seconds) = "(SELECT SLEEP(#{seconds})) pause"

        private

        def series = "(SELECT seq AS n FROM seq_1_to_#{People::ROWS}) numbers"

        def data = File.join(@folder, "data")

        # It refuses to run as root without being told.
        def account = Etc.getpwuid.name

        def prepare
          run!(program(*PROGRAMS.last), "--no-defaults", "--datadir=#{data}", "--user=#{account}", "--skip-test-db",
               "--auth-root-authentication-method=normal")
          Dir.mkdir(File.join(data, "lab"))
        end

        def command
          [program(*PROGRAMS.first), "--no-defaults", "--datadir=#{data}", "--user=#{account}", "--port=#{@port}",
           "--bind-address=#{HOST}", "--socket=#{File.join(@folder, "socket")}", "--pid-file=#{File.join(@folder, "pid")}",
           "--innodb-flush-log-at-trx-commit=0", "--max-connections=1000"]
        end
      end
    end
  end
end
