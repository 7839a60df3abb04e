# frozen_string_literal: true

require_relative "made_once"
require_relative "program"
require_relative "server"

module Support
  # A MariaDB with the user root, no password and the empty database "test". On a TCP port, and at {#socket_path}.
  class MariadbServer < Server
    PROGRAM = Program.new("mariadbd", "mysqld", apt: "mariadb-server", brew: "mariadb")
    INSTALLER = Program.new("mariadb-install-db", "mysql_install_db", apt: "mariadb-server", brew: "mariadb")

    def user = "root"

    def database = "test"

    def socket_path = File.join(folder, "mariadb.sock")

    private

    # Without --user it refuses to run as root; our own name needs no change of owner in the folder.
    def account = Etc.getpwuid.name

    def data = File.join(folder, "data")

    def prepare
      made = MadeOnce.made_once(INSTALLER.path!) do |path|
        run!(INSTALLER.path!, "--no-defaults", "--datadir=#{path}", "--user=#{account}", "--skip-test-db",
             "--auth-root-authentication-method=normal")
        Dir.mkdir(File.join(path, database))
      end
      FileUtils.cp_r(made, data, preserve: true)
    end

    # flush-log: nothing here has to survive a power failure.
    def command
      [PROGRAM.path!, "--no-defaults", "--datadir=#{data}", "--user=#{account}", "--port=#{port}",
       "--bind-address=#{host}", "--socket=#{socket_path}", "--pid-file=#{File.join(folder, "pid")}",
       "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=32M", "--max-connections=500"]
    end

    # It speaks first: the handshake packet begins with its length, a sequence number 0 and the protocol's version 10.
    def ready?
      Socket.tcp(host, port, connect_timeout: 1) { |socket| socket.read(5)&.getbyte(4) == 10 }
    rescue SystemCallError
      false
    end
  end
end
