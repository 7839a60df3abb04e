# frozen_string_literal: true

require_relative "scripted_origin"

# URLs as people write them.
class HTTPURLRepairTest < Minitest::Test
  include ClientCases

  URL = Plait::HTTP::URL

  {
    "http://b\u00fccher.example/a b?q=\u00e4#z\u00fc" => "http://xn--bcher-kva.example/a%20b?q=%C3%A4#z%C3%BC",
    "  http://host/\n" => "http://host/",
    "http://B\u00dcCHER.Example:8080" => "http://xn--bcher-kva.example:8080",
    "http://us\u00e9r:p w@b\u00fccher.example/" => "http://us%C3%A9r:p%20w@xn--bcher-kva.example/",
    "http://fa\u00df.de/" => "http://xn--fa-hia.de/",
    "http://\u4f8b\u3048\u3002\u30c6\u30b9\u30c8/" => "http://xn--r8jz45g.xn--zckzah/",
    "http://\uff11\uff12\uff17.0.0.1/" => "http://127.0.0.1/",
    "http://u\u0308.example/" => "http://xn--tda.example/",
    "http://[::1]:80/\u00e4" => "http://[::1]:80/%C3%A4",
    "//b\u00fccher.example/x" => "//xn--bcher-kva.example/x",
    "/a%20b c" => "/a%20b%20c",
    "http://host/\xff" => "http://host/%FF",
    "http://host/a?b=%zz|{}" => "http://host/a?b=%zz|{}"
  }.each do |written, meant|
    define_method("test_#{written.b.inspect}_is_repaired") do
      assert_equal(meant, URL.repair(written))
      assert_equal(meant, URL.repair(meant), "what is right stays")
    end
  end

  # RFC 3492 §7.1
  {
    "\u0644\u064a\u0647\u0645\u0627\u0628\u062a\u0643\u0644\u0645\u0648\u0634\u0639\u0631\u0628\u064a\u061f" =>
      "egbpdaj6bu4bxfgehfvwxn",
    "\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587" => "ihqwcrb4cv8a8dqg056pqjye",
    "Pro\u010dprost\u011bnemluv\u00ed\u010desky" => "Proprostnemluvesky-uyb24dma41a",
    "\u306a\u305c\u307f\u3093\u306a\u65e5\u672c\u8a9e\u3092\u8a71\u3057\u3066\u304f\u308c\u306a\u3044\u306e\u304b" =>
      "n8jok5ay5dzabd5bym9f0cm5685rrjetr6pdxa",
    "3\u5e74B\u7d44\u91d1\u516b\u5148\u751f" => "3B-ww4c5e180e575a65lsy2b",
    "Maji\u3067Koi\u3059\u308b5\u79d2\u524d" => "MajiKoi5-783gue6qz075azm5e",
    "\u30d1\u30d5\u30a3\u30fcde\u30eb\u30f3\u30d0" => "de-jg4avhby1noc0d",
    "-> $1.00 <-" => "-> $1.00 <--"
  }.each do |label, encoded|
    define_method("test_punycode_of_#{encoded}") { assert_equal(encoded, URL.const_get(:Punycode).encode(label)) }
  end

  def test_a_name_that_hides_another_host_is_refused
    ["http://a\u2100b.example/", "http://a\uff0fb.example/", "http://evil\uff20host.example/", "http://\u00e4\u200b.example/",
     "http://#{"\u00e4" * 70}.example/"].each do |url|
      assert_raises(Plait::UsageError, url) { URL.repair(url) }
    end
    assert_raises(Plait::UsageError) { URL.parse(URL.repair("http://ho st/")) }
  end

  def test_a_client_takes_them_where_it_is_said
    with_origin(repair_urls: true) do |client, origin|
      url = origin.url("/a b?q=\u00e4")
      responses = [client.get(url), client.post(" #{url}", body: ""), client.stream(:get, url).tap(&:close),
                   *client.fan_out([url, { url: url }]), client.get(url) { |response| response }]
      assert_equal(["/a%20b?q=%C3%A4"], origin.requests.map(&:target).uniq)
      assert_equal(6, responses.size)
      assert_equal("/%C3%A4", client.with(base: origin.url("/")).get("/\u00e4").request.url.path)
    end
    with_origin { |client, origin| assert_raises(Plait::UsageError) { client.get(origin.url("/a b")) } }
  end

  def test_with_hooks_it_is_the_repaired_one_that_is_seen
    seen = []
    with_origin(repair_urls: true, hooks: { before: ->(call) { seen << call.url } }) do |client, origin|
      client.get(origin.url("/a b"))
      assert_equal([origin.url("/a%20b")], seen)
    end
  end
end
