# frozen_string_literal: true

require "fileutils"
require "socket"
require "tmpdir"
require_relative "../../../test/support/certificates"
require_relative "pages"
require_relative "../../../plait/lib/plait/suites/common/programs"
require_relative "../../harness/delayed_origin"
require_relative "../../harness/meter"
require_relative "../../harness/processors"
require_relative "site"

module Bench
  module HTTP
    # One nginx of our own, in a temporary folder, on free ports of the loopback, by HTTP, by TLS and by HTTP/2. It ends with the
    # process that started it, even where that is killed.
    class Nginx
      # It could not be started.
      class StartError < StandardError; end

      START_SECONDS = 10
      # Milliseconds that the origins behind it take.
      FAR = { far: 20, late: 10_000 }.freeze
      # A port that was free may be taken before nginx has it.
      ATTEMPTS = 3
      # Waits for the end of its standard input, which is ours: what is left of us when we are killed.
      KEEPER = '"$@" & pid=$!; read line; kill $pid; wait $pid'

      # @yieldparam site [Site]
      # @raise [StartError]
      def self.open
        Dir.mktmpdir("plait-bench-http") do |folder|
          nginx = new(folder)
          yield nginx.start
        ensure
          nginx&.stop
        end
      end

      def initialize(folder)
        @folder = folder
        @program = Plait::Suites::Programs.find("nginx")
      end

      # @return [Site]
      # @raise [StartError]
      def start
        raise StartError, "nginx is needed: sudo apt-get install -y nginx-light" unless @program

        write_certificates
        @far = FAR.to_h { |kind, time| [kind, Harness::DelayedOrigin.new(time, Pages.fetch(kind).bytes, Harness::Processors.origin)] }
        write_pages
        ATTEMPTS.times { return site if run }
        raise StartError, "nginx did not start: #{log.lines.last(3).join.strip}"
      end

      # Waits for its end.
      def stop
        @keeper&.close
        @keeper = nil
      end

      private

      def site
        port, tls_port, http2_port = @ports
        Site.new(port: port, tls_port: tls_port, http2_port: http2_port, ca_file: path("ca.pem"),
                 processor: Harness::Processors.origin)
      end

      # A process group of its own: Ctrl-C is for the bench, which still wants to tell what it has measured.
      def run
        @ports = free_ports
        File.write(path("nginx.conf"), configuration)
        @keeper = IO.popen([*Harness::Processors.for_origin, "sh", "-c", KEEPER, "sh", @program, "-p", @folder,
                            "-e", path("error.log"), "-c", path("nginx.conf"), { pgroup: true, err: File::NULL }], "r+")
        listening? || stop
      end

      def listening?
        ends = Harness::Meter.wall + START_SECONDS
        begin
          @ports.each { |port| TCPSocket.new(Site::HOST, port).close }
          true
        rescue SystemCallError
          return false if log.include?("[emerg]") || Harness::Meter.wall > ends

          sleep(0.01)
          retry
        end
      end

      def free_ports
        listeners = Array.new(3) { TCPServer.new(Site::HOST, 0) }
        listeners.map { |listener| listener.addr[1] }
      ensure
        listeners&.each(&:close)
      end

      # Clients verify as they would outside.
      def write_certificates
        authority = ::Certificates::Authority.new
        server = authority.issue("IP:#{Site::HOST}")
        { "ca.pem" => authority.pair.certificate, "server.pem" => server.certificate, "server.key" => server.key }
          .each { |name, part| File.write(path(name), part.to_pem) }
      end

      def write_pages
        FileUtils.mkdir_p(path("pages"))
        Pages.all.each_value { |pages| pages.files.each { |name, bytes| File.binwrite(path("pages#{name}"), bytes) } }
        File.binwrite(path("pages/chunked.html"), "<!--#echo var=\"arg_n\" -->#{Pages.fetch(:chunked).filler}")
      end

      # One process, not a master and a worker under another user: that one could not enter the folder.
      # A server-side include has no length beforehand, so nginx sends it in chunks.
      def configuration
        <<~NGINX
          daemon off;
          master_process off;
          worker_rlimit_nofile #{Process.getrlimit(:NOFILE).last};
          pid nginx.pid;
          events { worker_connections 16384; multi_accept on; }
          http {
            access_log off;
            #{temporary_folders}
            default_type text/html;
            sendfile on;
            tcp_nopush on;
            keepalive_requests 1000000000;
            keepalive_timeout 600s;
            output_buffers 2 4k;
            client_max_body_size 64m;
            #{@far.map { |kind, origin| "upstream #{kind} { server #{Site::HOST}:#{origin.port}; keepalive 512; }" }.join(" ")}
            server {
              listen #{Site::HOST}:#{@ports[0]} backlog=4096;
              listen #{Site::HOST}:#{@ports[1]} ssl backlog=4096;
              listen #{Site::HOST}:#{@ports[2]} ssl http2 backlog=4096;
              ssl_certificate #{path("server.pem")};
              ssl_certificate_key #{path("server.key")};
              ssl_protocols TLSv1.2 TLSv1.3;
              root #{path("pages")};
              location = /small {
                #{headers_of_a_file}
                return 200 "$arg_n#{Pages.fetch(:small).filler}";
              }
              location = /missing { return 404 "$arg_n#{Pages.fetch(:small).filler}"; }
              location = /moved { return 302 /small?n=$arg_n; }
              location = /coded {
                gzip on;
                return 200 "$arg_n#{Pages.fetch(:small).filler}";
              }
              location = /chunked.html { ssi on; }
              proxy_http_version 1.1;
              proxy_set_header Connection "";
              #{@far.each_key.map { |kind| "location = /#{kind} { proxy_pass http://#{kind}; }" }.join(" ")}
            }
          }
        NGINX
      end

      # The head of a small page is as long as that of nginx's welcome page.
      def headers_of_a_file
        { "Last-Modified" => "Wed, 19 Oct 2022 07:56:21 GMT", "ETag" => '\"634fada5-264\"', "Accept-Ranges" => "bytes" }
          .map { |name, value| "add_header #{name} \"#{value}\";" }.join(" ")
      end

      def temporary_folders
        %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{path(name)};" }.join(" ")
      end

      def log = File.exist?(path("error.log")) ? File.read(path("error.log")) : ""

      def path(name) = File.join(@folder, name)
    end
  end
end
