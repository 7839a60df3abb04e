# frozen_string_literal: true

require "test_helper"
require "rack"
require "rack/lint"
require "plait/http"
require "plait/io/tls"
require "plait/server"
require "support/certificates"
require "support/browser"
require "support/program"
require "support/raw_http2"
require "support/root"
require_relative "app_server"
require_relative "http2/apps"
require_relative "http2/bounds"
require_relative "http2/peers"
require_relative "http2/raw_connection"
# Client and server are in one process here: loaded when first asked for they would be so at the same moment, by two threads, and
# Ruby 3.1 takes that for a circular require.
require "plait/http/http2"

# HTTP/2 by TLS, from the peer's bytes to the app and back, on every mechanism.
module HTTP2Cases
  include RawHTTP2
  include HTTP2Apps
  include HTTP2Bounds
  include HTTP2Peers

  CURL = Support::Program.new("curl", apt: "curl")
  AUTHORITY = Certificates::Authority.new
  LEAF = AUTHORITY.issue("DNS:localhost", "IP:127.0.0.1")
  MEGABYTES = Random.new(1).bytes(5_000_000)

  def setup = @sockets = []

  def teardown
    @sockets.each(&:close)
    @client&.close
    return unless @server

    @server.stop(within: 0)
    assert(@thread.join(60), "the server has not ended")
  end

  private

  def serve(lint: true, **options, &app)
    start(lint ? Rack::Lint.new(app) : app, options) { |server| server.listen("ssl://127.0.0.1:0", tls: LEAF.to_h) }
  end

  def serve_plain(&app) = start(Rack::Lint.new(app), {}) { |server| server.listen("tcp://127.0.0.1:0", http2: true) }

  def start(app, options)
    quiet = StringIO.new
    @server = Plait::Server.new(->(env) { app.call(env.merge!("rack.errors" => quiet)) }, on: mechanism, **options)
    @endpoint = yield @server
    @thread = @server.start
    @thread.report_on_exception = false
  end

  def port = @endpoint.port

  def url = "https://localhost:#{port}"

  def client
    @client ||= Plait::HTTP::Client.new(base: url, http2: true, compression: false, tls: { cert_store: AUTHORITY.store })
  end

  def path(path) = GET.map { |name, value| [name, name == ":path" ? path : value] }

  def secure(alpn: %w[h2])
    context = OpenSSL::SSL::SSLContext.new
    context.alpn_protocols = alpn if alpn
    socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", port), context)
    socket.sync_close = true
    socket.connect.tap { @sockets << socket }
  end

  def greet(*settings) = RawConnection.new(secure).write(hello(*settings))
end

%i[fibers threads hybrid].each do |mechanism|
  Object.const_set("ServerHTTP2On#{mechanism.capitalize}Test", Class.new(Minitest::Test) do
    include HTTP2Cases

    define_method(:mechanism) { mechanism }
  end)
end

# As a browser sees it.
class ServerHTTP2BrowserTest < Minitest::Test
  def test_a_browser_asks_by_http2
    Support::Browser.open("--ignore-certificate-errors") do |browser|
      app = File.join(Support::ROOT, "examples/events.ru")
      AppServer.start(app, "fibers", pair: Certificates.self_signed("IP:127.0.0.1"), variables: { "EVENTS" => "3" }) do |server|
        page = browser.visit(server.url)
        heard = -> { page.evaluate("document.getElementById('heard')?.textContent") }
        wait_until(timeout: 40, what: "seven events") { heard.call =~ /\b7\b/ }
        assert_equal("h2", page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol"))
      end
    end
  end
end
