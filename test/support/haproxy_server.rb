# frozen_string_literal: true

require_relative "program"
require_relative "server"

module Support
  # An HAProxy before an origin, or one that answers by itself:
  #
  #     HaproxyServer.start(frontend: 'http-request return status 200 content-type text/plain string "hi"')
  #     HaproxyServer.start(origin: nginx.port, leaf: Certificates::Authority.new.issue("DNS:localhost"))
  class HaproxyServer < Server
    PROGRAM = Program.new("haproxy", apt: "haproxy")

    # @param frontend [String] directives for the frontend
    # @param defaults [String] directives for the section "defaults"
    # @param origin [Integer, nil] the port of the server behind it
    # @param leaf [Certificates::Pair, nil] with one it speaks TLS, and offers HTTP/2 by ALPN
    def initialize(frontend: "", defaults: "", origin: nil, leaf: nil, **options)
      super(**options)
      @frontend = frontend
      @defaults = defaults
      @origin = origin
      @leaf = leaf
    end

    def url = @leaf ? "https://localhost:#{port}" : "http://#{host}:#{port}"

    private

    def prepare
      File.write(config_path, configuration)
      File.write(leaf_path, @leaf.certificate.to_pem + @leaf.key.to_pem) if @leaf
    end

    def config_path = File.join(folder, "haproxy.cfg")

    def leaf_path = File.join(folder, "leaf.pem")

    def command = [PROGRAM.path!, "-db", "-f", config_path]

    def ready? = listening?

    def configuration
      <<~CONF
        global
          nbthread 1
          maxconn 2000
        defaults
          mode http
          timeout connect 10s
          timeout client 60s
          timeout server 60s
          #{@defaults}
        frontend front
          bind #{host}:#{port} #{"ssl crt #{leaf_path} alpn h2,http/1.1" if @leaf}
          #{@frontend}
          #{"default_backend origins" if @origin}
        #{"backend origins\n  server origin #{host}:#{@origin}" if @origin}
      CONF
    end
  end
end
