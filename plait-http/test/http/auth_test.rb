# frozen_string_literal: true

require_relative "scripted_origin"

class HTTPAuthTest < Minitest::Test
  include ClientCases

  Auth = Plait::HTTP.const_get(:Auth)

  def test_its_forms
    assert_equal("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Auth.header(["Aladdin", "open sesame"]), "RFC 7617 §2")
    assert_equal("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Auth.header(basic: ["Aladdin", "open sesame"]))
    assert_equal("Basic dGVzdDoxMjPCow==", Auth.header(["test", "123£"]), "RFC 7617 §2.1: UTF-8")
    assert_equal("Basic dXNlcjo=", Auth.header(["user"]))
    assert_equal("Bearer mF_9.B5f-4.1JqM", Auth.header(bearer: "mF_9.B5f-4.1JqM"), "RFC 6750 §2.1")
    assert_equal("Digest x", Auth.header("Digest x"))
    assert_equal("Bearer t", Auth.header(-> { { bearer: "t" } }))
    assert_nil(Auth.header(nil))
    assert_nil(Auth.header(-> {}))
  end

  def test_long_credentials_stay_on_one_line
    refute_includes(Auth.header(["u" * 100, "p" * 100]), "\n")
  end

  def test_what_is_none_is_refused_without_telling_it
    [["us:er", "secret"], %w[user secret more], { basic: ["us:er", "secret"] },
     { bearer: "secret\n" }, { bearer: nil }, { bearer: [] },
     { password: "secret" }, { basic: %w[a b], bearer: "secret" }, -> { -> { "secret" } }, 5].each do |auth|
      error = assert_raises(Plait::UsageError) { Auth.header(auth) }
      refute_match(/secret/, error.message)
    end
  end

  def test_a_request_can_do_without_the_clients
    with_origin("/r" => redirect("/x"), auth: { bearer: "client" }) do |client, origin|
      url = origin.url("/r")
      client.get(url, auth: false)
      client.get(url.sub("//", "//user:password@"), auth: false)
      client.get(url, headers: { "authorization" => nil })
      client.fan_out([{ url: url, auth: false }])
      client.get(url, auth: false) { |response| response.each_piece { nil } }
      assert_equal([nil], origin.requests.map { |request| request["authorization"] }.uniq)
      client.get(url, auth: nil)
      assert_equal("Bearer client", origin.requests.last["authorization"])
    end
    with_origin(headers: { "Authorization" => "by hand" }) do |client, origin|
      client.get(origin.url("/x"), auth: false)
      assert_nil(origin.requests.last["authorization"])
    end
  end

  def test_a_request_has_its_own_before_the_url_before_the_client
    with_origin(auth: { bearer: "client" }) do |client, origin|
      host = "127.0.0.1:#{origin.port}"
      client.get("http://#{host}/1")
      client.get("http://us%40er:p%3Aw@#{host}/2")
      client.get("http://us%40er:p%3Aw@#{host}/3", auth: { bearer: "own" })
      client.get("http://#{host}/4", headers: { "Authorization" => "by hand" })
      said = origin.requests.map { |request| request.fields.filter_map { |name, value| value if name == "authorization" } }
      assert_equal([["Bearer client"], ["Basic #{["us@er:p:w"].pack("m0")}"], ["Bearer own"], ["by hand"]], said)
    end
  end

  def test_with_a_base_the_clients_is_for_its_origin_alone
    ScriptedOrigin.open do |other|
      ScriptedOrigin.open do |origin|
        Plait::HTTP::Client.open(base: origin.url, auth: { bearer: "t" }, proxy: false) do |client|
          2.times { client.get("/x") }
          2.times { client.get(other.url("/x")) }
          client.get(origin.url("/x"))
        end
        assert_equal(["Bearer t"] * 3, origin.requests.map { |request| request["authorization"] })
        assert_equal([nil] * 2, other.requests.map { |request| request["authorization"] })
      end
    end
  end

  def test_what_can_be_called_is_called_for_each_request
    count = 0
    with_origin(auth: -> { { bearer: "t#{count += 1}" } }) do |client, origin|
      2.times { client.get(origin.url("/x")) }
      assert_equal(["Bearer t1", "Bearer t2"], origin.requests.map { |request| request["authorization"] })
    end
  end
end
