# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/nginx_server"

# Cassettes of VCR, which hooks into WebMock, in processes of their own.
class VCRTest < Minitest::Test
  PRELUDE = <<~RUBY
    require "vcr"
    require "plait/http/webmock"
    VCR.configure do |config|
      config.cassette_library_dir = ARGV.first
      config.hook_into :webmock
    end
  RUBY

  # Each way to send a request, and an answer with bytes of no encoding.
  REQUESTS = <<~'RUBY'
    url = ARGV.last
    said = VCR.use_cassette("answers", allow_unused_http_interactions: false) do
      [Plait::HTTP.get("#{url}/hello", headers: { "X-Tell" => "me" }).then { |one| [one.status, one["x-one"], one.text] },
       Plait::HTTP.post("#{url}/hello", body: "a=1").text,
       Plait::HTTP.get("#{url}/bytes").body.bytes,
       Plait::HTTP.get("#{url}/packed").text,
       Plait::HTTP.get("#{url}/away").text,
       Plait::HTTP.get("#{url}/hello") { |response| response.each_piece.to_a.join },
       Plait::HTTP.fan_out(["#{url}/hello"] * 2, limit: 2).map { |one| one.status }]
    end
    p said
    begin
      VCR.use_cassette("answers") { Plait::HTTP.get("#{url}/other") }
    rescue VCR::Errors::UnhandledHTTPRequestError => e
      p e.class
    end
  RUBY

  def setup
    skip("vcr or webmock is missing: bin/setup test drivers") unless %w[vcr webmock].all? { |gem| Gem.loaded_specs.key?(gem) }
  end

  def test_a_cassette_answers_as_the_server_did
    Dir.mktmpdir do |folder|
      server = Support::NginxServer.start(server: <<~CONF)
        location /hello { add_header X-One 1; return 200 "hello $request_method $http_x_tell"; }
        location /bytes { return 200 "\\xff\\xfe"; }
        location /away { return 302 /hello; }
        location /packed { gzip on; gzip_min_length 1; gzip_types *; return 200 "#{"packed " * 50}"; }
      CONF
      recorded = run_with(folder, server.url)
      server.stop
      assert_match(/\A\[\[200, "1", "hello GET me"\], "hello POST ", .*\nVCR::Errors::UnhandledHTTPRequestError\n\z/, recorded)
      assert_equal(recorded, run_with(folder, server.url))
    end
  end

  private

  def run_with(*arguments)
    result = Support::FreshRuby.run(PRELUDE + REQUESTS, *arguments)
    assert_empty(result.err)
    result.out
  end
end
