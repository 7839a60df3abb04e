# frozen_string_literal: true

require "falcon/rackup/handler"
require_relative "app"

# By TLS it speaks HTTP/2, too.
def serve_tls(app, port)
  context = OpenSSL::SSL::SSLContext.new
  context.add_certificate(OpenSSL::X509::Certificate.new(File.read(ENV.fetch("BENCH_CERTIFICATE"))),
                          OpenSSL::PKey.read(File.read(ENV.fetch("BENCH_KEY"))))
  context.alpn_select_cb = ->(offered) { (%w[h2 http/1.1] & offered).first }
  endpoint = IO::Endpoint::SSLEndpoint.new(IO::Endpoint.tcp("127.0.0.1", Integer(port)), ssl_context: context)
  Sync do
    how = { protocol: Async::HTTP::Protocol::HTTPS.new, scheme: "https" }
    Falcon::Server.new(Protocol::Rack::Adapter.new(app), endpoint, **how).run.wait
  end
end

app, _threads, port = ARGV
if ENV.key?("BENCH_KEY")
  require "io/endpoint/ssl_endpoint"
  serve_tls(APPS.fetch(app), port)
else
  Falcon::Rackup::Handler.run(APPS.fetch(app), Host: "127.0.0.1", Port: port)
end
