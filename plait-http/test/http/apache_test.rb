# frozen_string_literal: true

require_relative "scripted_origin"
require "support/certificates"
require "support/apache_server"
require "support/nginx_server"
require "zlib"

# The client beside an Apache httpd: as an origin, and as a proxy.
class HTTPApacheTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  TEXT = Array.new(20_000) { |number| "line #{number}\n" }.join.freeze
  # mod_reflector sends what it has received.
  ECHO = "<Location /echo>\n  SetHandler reflector\n</Location>\n"

  PASSWORDS = %w[auth_basic authn_core authn_file authz_user].freeze

  # ---- connections ----

  def test_connections_that_the_server_closes_after_some_requests
    with_apache(config: "MaxKeepAliveRequests 5") do |client, apache|
      apache.put("a.txt", "page")
      assert_equal(["page"], Array.new(20) { client.get("#{apache.url}/a.txt").body }.uniq)
      assert_equal([4, 16], client.statistics.values_at(:connected, :reused))
      assert_equal(%w[page] * 100, client.fan_out(["#{apache.url}/a.txt"] * 100, limit: 8).map(&:body))
      assert_idle(client)
    end
  end

  def test_connections_that_the_server_closes_after_a_while
    with_apache(config: "KeepAliveTimeout 100ms\n#{ECHO}", modules: %w[reflector]) do |client, apache|
      apache.put("a.txt", "page")
      [-> { client.get("#{apache.url}/a.txt") }, -> { client.post("#{apache.url}/echo", body: "page") }].each do |call|
        2.times do
          assert_equal("page", call.call.body)
          await_the_end(apache.port)
        end
      end
      assert_equal([4, 3], client.statistics.values_at(:connected, :stale))
    end
  end

  def test_a_server_without_keep_alive
    with_apache(config: "KeepAlive Off") do |client, apache|
      apache.put("a.txt", "page")
      assert_equal(%w[page] * 10, Array.new(10) { client.get("#{apache.url}/a.txt").body })
      assert_equal([10, 0], client.statistics.values_at(:connected, :idle))
    end
  end

  # ---- bodies ----

  def test_codings
    coded = "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/plain"
    with_apache(config: coded, modules: %w[filter deflate brotli]) do |client, apache|
      apache.put("a.txt", TEXT)
      url = "#{apache.url}/a.txt"
      response = client.get(url)
      coding = HTTP.const_get(:Codings).accept.include?("br") ? "br" : "gzip"
      assert_equal([coding, TEXT], [response["content-encoding"], response.body])
      { "gzip" => ->(body) { Zlib.gunzip(body) }, "identity" => ->(body) { body } }.each do |coding, decode|
        assert_equal(TEXT, decode.call(client.get(url, headers: { "Accept-Encoding" => coding }).body), coding)
      end
      assert_equal(TEXT, client.get(url) { |streamed| streamed.each_piece.to_a.join })
      assert_equal(["", 200], client.head(url).then { |head| [head.body, head.status] })
      assert_equal(TEXT, client.get(url).body, "after a HEAD on the same connection")
      assert_equal(1, client.statistics[:connected])
    end
  end

  def test_parts
    coded = "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/plain"
    with_apache(config: coded, modules: %w[filter deflate brotli]) do |client, apache|
      apache.put("a.txt", TEXT)
      part = ->(range) { client.get("#{apache.url}/a.txt", headers: { "Range" => "bytes=#{range}" }) }
      assert_equal([206, TEXT[100..199], "bytes 100-199/#{TEXT.bytesize}"],
                   part["100-199"].then { |response| [response.status, response.body, response["content-range"]] })
      assert_equal(TEXT[-10..], part["-10"].body)
      assert_equal(416, part["#{TEXT.bytesize}-"].status)
      several = part["0-4,10-14"]
      assert_equal("multipart/byteranges", several.content_type)
      assert_equal([TEXT[0..4], TEXT[10..14]], several.body.scan(/\r\n\r\n(.{5})\r\n--/m).flatten)
    end
  end

  def test_what_has_not_changed
    with_apache do |client, apache|
      apache.put("a.txt", "page")
      first = client.get("#{apache.url}/a.txt")
      again = client.get("#{apache.url}/a.txt", headers: { "If-None-Match" => first["etag"] })
      assert_equal([304, ""], [again.status, again.body])
      assert_equal("page", client.get("#{apache.url}/a.txt").body)
      assert_equal(1, client.statistics[:connected])
    end
  end

  def test_chunks_of_a_script
    skip("mod_cgid is a module for Unix") unless File.executable?("/bin/sh")
    config = "ScriptSock cgid\nScriptAlias /cgi/ ${ROOT}/cgi/\n<Directory ${ROOT}/cgi>\n  Options ExecCGI\n</Directory>"
    with_apache(config: config, modules: %w[cgid]) do |client, apache|
      apache.put("cgi/count", <<~SH)
        #!/bin/sh
        echo "Content-Type: text/plain"
        echo
        i=0
        while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done
      SH
      2.times do
        response = client.get("#{apache.url}/cgi/count")
        assert_equal(["chunked", TEXT], [response["transfer-encoding"], response.body])
      end
      apache.put("cgi/broken", "#!/bin/sh\nexit 3\n")
      assert_equal(500, client.get("#{apache.url}/cgi/broken").status)
      assert_equal(1, client.statistics[:connected])
    end
  end

  # ---- requests with bodies ----

  def test_uploads_come_back
    with_apache(config: ECHO, modules: %w[reflector]) do |client, apache|
      url = "#{apache.url}/echo"
      apache.put("a.txt", TEXT)
      lines = -> { (1..20_000).lazy.map { |number| "line #{number - 1}\n" } }
      bodies = { TEXT => "as a String", StringIO.new(TEXT) => "as a StringIO", lines.call => "in chunks" }
      bodies.each { |body, how| assert_equal(TEXT, client.post(url, body: body).body, how) }
      File.open(File.join(apache.root, "a.txt")) { |file| assert_equal(TEXT, client.post(url, body: file).body) }
      assert_equal("", client.post(url).body)
      assert_equal(1, client.statistics[:connected])
    end
  end

  def test_a_body_that_waits_for_the_servers_word
    config = "#{ECHO}<Location /small>\n  LimitRequestBody 1000\n  SetHandler reflector\n</Location>"
    with_apache(config: config, modules: %w[reflector]) do |client, apache|
      waiting = { "Expect" => "100-continue" }
      assert_equal(TEXT, client.post("#{apache.url}/echo", body: TEXT, headers: waiting).body)
      refusals = Array.new(5).lazy.map { refusal("#{apache.url}/small", client, waiting) } # after a second the body goes anyway
      assert_includes(refusals, [413, 0])
      assert_equal(417, client.post("#{apache.url}/echo", body: "x", headers: { "Expect" => "something" }).status)
      apache.put("a.txt", "page")
      assert_equal("page", client.get("#{apache.url}/a.txt").body, "it closes after a 417, and doesn't say so")
    end
  end

  # It answers, sends no more, and reads on for a while what we send.
  def test_an_answer_in_the_middle_of_the_request
    config = "<Location /small>\n  LimitRequestBody 1000\n  SetHandler reflector\n</Location>"
    with_apache(config: config, modules: %w[reflector]) do |client, apache|
      ["x" * 5_000_000, (1..500).lazy.map { "x" * 10_000 }].each do |body|
        assert_equal(413, client.post("#{apache.url}/small", body: body).status)
      end
      assert_equal([2, 0, 0], client.statistics.values_at(:connected, :idle, :busy))
    end
  end

  def test_what_is_too_long_for_it
    with_apache do |client, apache|
      apache.put("a.txt", "page")
      assert_equal(414, client.get("#{apache.url}/#{"x" * 9_000}").status)
      assert_equal(400, client.get("#{apache.url}/a.txt", headers: { "X-Long" => "x" * 9_000 }).status)
      assert_equal("page", client.get("#{apache.url}/a.txt").body)
    end
  end

  def test_redirects_and_passwords
    secret = "<Location /secret>\n#{password("hall")}</Location>"
    with_apache(config: "Redirect 308 /to /secret/a.txt\n#{secret}", modules: PASSWORDS) do |client, apache|
      apache.put("secret/a.txt", "page")
      File.write(File.join(apache.folder, "users"), "ada:#{"open sesame".crypt("ab")}\n")
      denied = client.get("#{apache.url}/to")
      assert_equal([401, 'Basic realm="hall"'], [denied.status, denied["www-authenticate"]])
      assert_equal("page", client.get("#{apache.url}/to", auth: ["ada", "open sesame"]).body)
    end
  end

  # ---- as a proxy ----

  def test_a_proxy_for_plain_origins
    with_proxy do |apache, origin|
      HTTP::Client.open(proxy: apache.url.sub("//", "//ada:secret@")) do |client|
        5.times { |number| assert_match(%r{\A/#{number} 1\.1 }, client.get("#{origin.url}/#{number}").body) }
        assert_equal(1, client.statistics[:connected])
        assert_equal(503, client.get("http://127.0.0.1:1/").status)
      end
      HTTP::Client.open(proxy: apache.url) do |client|
        assert_equal([407, 'Basic realm="proxy"'],
                     client.get(origin.url).then { |response| [response.status, response["proxy-authenticate"]] })
      end
    end
  end

  def test_a_proxy_for_origins_with_tls
    authority = Certificates::Authority.new
    with_proxy(authority.issue("IP:127.0.0.1")) do |apache, _origin, secure|
      tls = { cert_store: authority.store }
      HTTP::Client.open(proxy: apache.url.sub("//", "//ada:secret@"), tls: tls) do |client|
        5.times { |number| assert_equal("/#{number} ", client.get("#{secure}/#{number}").body) }
        assert_equal(1, client.statistics[:connected])
        error = assert_raises(Plait::ConnectError) { client.get("https://127.0.0.1:1/") }
        assert_match(/refused to connect to 127\.0\.0\.1:1: 403/, error.message)
      end
      HTTP::Client.open(proxy: apache.url, tls: tls) do |client|
        error = assert_raises(Plait::ConnectError) { client.get(secure) }
        assert_match(/407 .*it wants user and password/, error.message)
      end
    end
  end

  private

  # @return [Array] the status, and how much of the body was sent
  def refusal(url, client, headers)
    body = StringIO.new(TEXT)
    [client.post(url, body: body, headers: headers).status, body.pos]
  end

  # @param config [String] see {Support::ApacheServer#initialize}
  # @yieldparam client [Plait::HTTP::Client]
  # @yieldparam apache [Support::ApacheServer]
  def with_apache(config: "", modules: [], **options)
    Support::ApacheServer.start(config: config, modules: modules) do |apache|
      HTTP::Client.open(**PROXY, **options) do |client|
        yield(client, apache)
        assert_idle(client)
      end
    end
  end

  # @param leaf [Certificates::Pair, nil]
  # @yieldparam apache [Support::ApacheServer] a proxy for those who know its password
  # @yieldparam origin [Support::NginxServer] which tells the field Via
  # @yieldparam secure [String, nil] the URL of the same by TLS
  def with_proxy(leaf = nil)
    Dir.mktmpdir("plait-test-") do |folder|
      port = Support::Server.free_port
      Support::NginxServer.start(server: origin(folder, leaf, port)) do |origin|
        modules = %w[proxy proxy_http proxy_connect]
        Support::ApacheServer.start(modules: modules + PASSWORDS, config: proxying(port)) do |apache|
          File.write(File.join(apache.folder, "users"), "ada:#{"secret".crypt("ab")}\n")
          yield(apache, origin, ("https://127.0.0.1:#{port}" if leaf))
        end
      end
    end
  end

  def origin(folder, leaf, port)
    return 'location / { return 200 "$request_uri $http_via"; }' unless leaf

    File.write("#{folder}/leaf.pem", leaf.certificate.to_pem + leaf.key.to_pem)
    <<~CONF
      listen 127.0.0.1:#{port} ssl;
      ssl_certificate #{folder}/leaf.pem;
      ssl_certificate_key #{folder}/leaf.pem;
      location / { return 200 "$request_uri $http_via"; }
    CONF
  end

  def password(name) = "AuthType Basic\nAuthName #{name}\nAuthUserFile ${FOLDER}/users\nRequire valid-user\n"

  def proxying(port)
    <<~CONF
      ProxyRequests On
      ProxyVia On
      AllowCONNECT #{port}
      <Proxy *>
        #{password("proxy")}
      </Proxy>
    CONF
  end
end
