# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # An Apache httpd that serves the files of {#root}, and does what the caller's directives say:
  #
  #     ApacheServer.start(modules: %w[deflate filter], config: "SetOutputFilter DEFLATE")
  class ApacheServer < Server
    PROGRAM = Program.new("apache2", "httpd", apt: "apache2-bin", brew: "httpd")
    FOLDERS = %w[/usr/lib/apache2/modules /usr/lib64/httpd/modules /opt/homebrew/lib/httpd/modules /usr/local/lib/httpd/modules
                 /usr/libexec/apache2].freeze
    # What a server does nothing without.
    MODULES = %w[mpm_event unixd log_config authz_core mime dir alias headers].freeze
    # Whom root hands its work over to.
    NOBODY = "nobody"
    private_constant :FOLDERS, :MODULES, :NOBODY

    # @param config [String] directives; ${FOLDER} and ${ROOT} in them are {#folder} and {#root}
    # @param modules [Array<String>] that these need: "deflate" is mod_deflate
    # @param files [Hash{String => String}] below {#root}; those in the folder cgi may be run
    def initialize(config: "", modules: [], files: {}, **options)
      super(**options)
      @files = files
      @config = config
      @modules = MODULES + modules
    end

    def url = "http://#{host}:#{port}"

    # @return [String] the folder whose files are served
    def root = File.join(folder, "root")

    # @return [Array<String>] the request lines that it has served
    def requests = File.readlines(File.join(folder, "requests"), chomp: true)

    # @param path [String] below {#root}
    # @param text [String]
    def put(path, text)
      file = File.join(root, path)
      FileUtils.mkdir_p(File.dirname(file))
      File.write(file, text)
      File.chmod(0o755, file) if path.start_with?("cgi/")
    end

    private

    def prepare
      FileUtils.mkdir_p(root)
      @files.each { |path, text| put(path, text) }
      File.chmod(0o755, folder, root) # others may come in: see NOBODY
      File.write(config_path, configuration)
    end

    def config_path = File.join(folder, "httpd.conf")

    def command = [PROGRAM.path!, "-f", config_path, "-DFOREGROUND"]

    # It listens before it has read all of its configuration.
    def ready?
      Socket.tcp(host, port, connect_timeout: 1) do |socket|
        socket.write("HEAD / HTTP/1.0\r\n\r\n")
        socket.gets.to_s.start_with?("HTTP/1.1 ")
      end
    rescue SystemCallError
      false
    end

    def configuration
      <<~CONF
        #{@modules.filter_map { |name| load_line(name) }.join("\n")}
        Define FOLDER #{folder}
        Define ROOT #{root}
        ServerRoot #{folder}
        ServerName localhost
        Listen #{host}:#{port}
        #{"User #{NOBODY}\nGroup ##{Etc.getpwnam(NOBODY).gid}" if root?}
        PidFile #{folder}/pid
        DefaultRuntimeDir #{folder}
        Mutex file:#{folder}
        ErrorLog #{log_path}
        CustomLog #{folder}/requests "%r"
        DocumentRoot #{root}
        TypesConfig /dev/null
        AddType text/plain .txt
        AddType text/html .html
        <Directory #{root}>
          Require all granted
        </Directory>
        #{@config}
      CONF
    end

    # Some are built in, here or there.
    def load_line(name)
      path = FOLDERS.map { |folder| File.join(folder, "mod_#{name}.so") }.find { |file| File.exist?(file) }
      "LoadModule #{name}_module #{path}" if path
    end
  end
end
