# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # An nginx that serves the files of {#root}, and whatever the caller's directives say:
  #
  #     NginxServer.start(server: "location /hello { return 200 hi; }")
  class NginxServer < Server
    PROGRAM = Program.new("nginx", apt: "nginx")

    # @param server [String] directives for the server block
    # @param http [String] directives for the http block
    def initialize(server: "", http: "", **options)
      super(**options)
      @server = server
      @http = http
    end

    def url = "http://#{host}:#{port}"

    # @return [String] the folder whose files are served
    def root = File.join(folder, "root")

    private

    def prepare
      FileUtils.mkdir_p([root, File.join(folder, "temp")])
      File.write(config_path, configuration)
    end

    def config_path = File.join(folder, "nginx.conf")

    def command = [PROGRAM.path!, "-p", folder, "-c", config_path, "-e", log_path]

    def ready? = listening?

    def configuration
      <<~CONF
        daemon off;
        #{"user #{Etc.getpwuid.name} #{Etc.getgrgid.name};" if root?}
        worker_processes 1;
        pid #{folder}/pid;
        events { worker_connections 8192; }
        http {
          access_log off;
          #{"keepalive_requests 1000000;" unless @http.include?("keepalive_requests")}
          types { text/html html; application/json json; text/plain txt; }
          #{%w[client_body proxy fastcgi uwsgi scgi].map { |kind| "#{kind}_temp_path #{folder}/temp/#{kind};" }.join("\n  ")}
          #{@http}
          server {
            listen #{host}:#{port};
            root #{root};
            #{@server}
          }
        }
      CONF
    end
  end
end
