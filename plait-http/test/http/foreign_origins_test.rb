# frozen_string_literal: true

require_relative "scripted_origin"
require "open3"
require "support/certificates"
require "support/made_once"
require "support/program"
require "tmpdir"

# The client before the servers of Node and of Go, by HTTP/1.1, by TLS and by HTTP/2.
class HTTPForeignOriginsTest < Minitest::Test
  include ClientCases

  # Go's compiler starts with an empty cache.
  def hard_timeout = 600

  HTTP = Plait::HTTP
  FOREIGN = File.expand_path("foreign", __dir__)
  NODE = Support::Program.new("node", apt: "nodejs", brew: "node")
  GO = Support::Program.new("go", apt: "golang-go", brew: "go", folders: %w[/usr/lib/go*/bin])
  AUTHORITY = Certificates::Authority.new
  LEAF = AUTHORITY.issue("IP:127.0.0.1")
  TEXT = Array.new(20_000) { |number| "line #{number}\n" }.join.freeze
  PATIENCE = 60
  # How it is asked => by TLS, and with HTTP/2.
  WAYS = { "http1" => [false, false], "tls" => [true, false], "http2" => [true, true] }.freeze

  %w[node go].product(WAYS.to_a).each do |language, (way, (tls, http2))|
    define_method(:"test_answers_of_#{language}_by_#{way}") do
      with_foreign(language, tls, http2) do |client, url|
        assert_equal("GET /a?b=c #{http2 ? "2.0" : "1.1"}", client.get("#{url}/a?b=c").body)
        assert_equal([200, ""], client.head("#{url}/a").then { |response| [response.status, response.body] })
        assert_equal(TEXT, client.get("#{url}/gzip").body)
        assert_equal(["hello", [%w[digest abc]]], client.get("#{url}/trailers").then { |one| [one.body, lower(one.trailers)] })
        assert_equal([200, "hello", nil], client.get("#{url}/hints").then { |one| [one.status, one.body, one["link"]] })
        assert_equal("hello", client.get("#{url}/drops") { |response| response.each_piece.to_a.join })
        assert_equal([204, ""], client.get("#{url}/none").then { |response| [response.status, response.body] })
        assert_equal(1, client.statistics[:connected])
      end
    end

    define_method(:"test_uploads_to_#{language}_by_#{way}") do
      with_foreign(language, tls, http2) do |client, url|
        lines = -> { (1..20_000).lazy.map { |number| "line #{number - 1}\n" } }
        [TEXT, StringIO.new(TEXT), lines.call].each { |body| assert_equal(TEXT, client.post("#{url}/echo", body: body).body) }
        assert_equal(TEXT, client.put("#{url}/away", body: TEXT).body)
        assert_equal("", client.post("#{url}/echo").body)
        waiting = { "Expect" => "100-continue" }
        assert_equal(TEXT, client.post("#{url}/echo", body: TEXT, headers: waiting).body)
        assert_equal(1, client.statistics[:connected])
      end
    end

    define_method(:"test_answers_of_#{language}_that_are_cut_off_by_#{way}") do
      with_foreign(language, tls, http2) do |client, url|
        cut = [Plait::TruncatedError, Plait::ConnectionClosed]
        %w[/cut /torn].each do |path|
          assert_raises(*cut) { client.get("#{url}#{path}") }
          assert_raises(*cut) { client.get("#{url}#{path}") { |response| response.each_piece { nil } } }
        end
        assert_equal("hello", client.get("#{url}/drops").body)
      end
    end

    define_method(:"test_many_at_once_of_#{language}_by_#{way}") do
      with_foreign(language, tls, http2) do |client, url|
        urls = Array.new(300) { |number| "#{url}/#{number}" }
        paths = ->(responses) { responses.map { |response| response.body[%r{/\d+}] } }
        %i[fibers threads].each do |on|
          assert_equal(urls.map { |one| one[%r{/\d+\z}] }, paths.call(client.fan_out(urls, limit: 32, on: on)))
        end
      end
    end
  end

  private

  def lower(fields) = fields.map { |name, value| [name.downcase, value] }

  # @yieldparam client [Plait::HTTP::Client]
  # @yieldparam url [String]
  def with_foreign(language, tls, http2)
    Dir.mktmpdir("plait-test-") do |folder|
      { "pem" => LEAF.certificate, "key" => LEAF.key }.each { |suffix, one| File.write("#{folder}/leaf.#{suffix}", one.to_pem) }
      Open3.popen2(*command(language), folder) do |_, output, origin|
        ports = output.gets&.split if output.wait_readable(PATIENCE)
        flunk("the origin of #{language} does not start") unless ports
        HTTP::Client.open(proxy: false, tls: { cert_store: AUTHORITY.store }, http2: http2) do |client|
          yield(client, "http#{"s" if tls}://127.0.0.1:#{ports[tls ? 1 : 0]}")
          assert_idle(client)
        end
      ensure
        Process.kill(:KILL, origin.pid)
      end
    end
  end

  # @return [Array<String>]
  def command(language) = language == "node" ? [NODE.path!, "#{FOREIGN}/origin.js"] : [go_program]

  def go_program
    go = GO.path!
    source = "#{FOREIGN}/origin.go"
    Support::MadeOnce.lasting(go, File.read(source)) do |path|
      Dir.mktmpdir("plait-go-") do |cache|
        environment = { "GO111MODULE" => "off", "GOCACHE" => cache, "GOPATH" => cache }
        output, status = Open3.capture2e(environment, go, "build", "-o", path, source)
        assert_predicate(status, :success?, output)
      end
    end
  end
end
