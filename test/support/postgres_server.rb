# frozen_string_literal: true

require_relative "made_once"
require_relative "program"
require_relative "server"

module Support
  # A PostgreSQL with the superuser "postgres", no password and the database "postgres". It refuses to run as root:
  # there it runs as the user its package has created.
  class PostgresServer < Server
    BIN = ["/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"].freeze
    PROGRAM = Program.new("postgres", apt: "postgresql", folders: BIN)
    INSTALLER = Program.new("initdb", apt: "postgresql", folders: BIN)
    SETPRIV = Program.new("setpriv", apt: "util-linux")

    def user = "postgres"

    def database = "postgres"

    def url = "postgres://#{user}@#{host}:#{port}/#{database}"

    private

    def data = File.join(folder, "data")

    def account = Etc.passwd { |entry| break entry if entry.name == "postgres" } || Etc.getpwnam("nobody")

    # setpriv becomes the program, where runuser may stay as its parent: the pid is the server's.
    def as_somebody
      root? ? [SETPRIV.path!, "--reuid=#{account.uid}", "--regid=#{account.gid}", "--clear-groups", "--"] : []
    end

    def prepare
      FileUtils.chown(account.uid, account.gid, folder) if root?
      made = MadeOnce.made_once(INSTALLER.path!) do |path|
        run!(*as_somebody, INSTALLER.path!, "--pgdata=#{data}", "--username=#{user}", "--auth=trust", "--encoding=UTF8",
             "--locale=C", "--no-sync")
        FileUtils.mv(data, path)
      end
      FileUtils.cp_r(made, data, preserve: true)
    end

    def command
      [*as_somebody, PROGRAM.path!, "-D", data, "-p", port.to_s, "-h", host, "-k", folder, "-F",
       "-c", "max_connections=200"]
    end

    # It answers an SSLRequest with one letter as soon as it takes connections.
    def ready?
      Socket.tcp(host, port, connect_timeout: 1) do |socket|
        socket.write([8, 80_877_103].pack("NN"))
        %w[S N].include?(socket.read(1)) && startup?
      end
    rescue SystemCallError
      false
    end

    # While it recovers it refuses with an error packet "E"; otherwise it asks for authentication with "R".
    def startup?
      Socket.tcp(host, port, connect_timeout: 1) do |socket|
        body = [196_608, "user", user, "database", database, ""].pack("NZ*Z*Z*Z*Z*")
        socket.write([body.bytesize + 4].pack("N") + body)
        socket.read(1) == "R"
      end
    end

    # SIGTERM waits for the sessions to end ("smart"), SIGINT does not ("fast").
    def end_process(signal = :INT)
      super
      Waiting.wait_until(timeout: STOP_TIMEOUT, what: "the end of all its processes") { children.empty? }
    end

    # Those of a killed server end a little later, each in a session of its own, and keep its shared memory until then.
    def children = folder ? Dir.glob("/proc/[0-9]*/cwd").select { |link| at_home?(link) } : []

    def at_home?(link)
      File.readlink(link) == data
    rescue SystemCallError
      false
    end
  end
end
