# frozen_string_literal: true

require_relative "scripted_origin"

# Client#with: another client of the same connections, unless an option is about these.
class HTTPClientWithTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP

  def test_adds_headers_and_shares_connections
    with_origin(headers: { "X-One" => "1" }) do |client, origin|
      client.get(origin.url("/"))
      response = client.with(headers: { "X-Two" => "2" }, timeout: 5).get(origin.url("/"))
      assert_equal(%w[1 2], origin.requests.last.then { |request| [request["x-one"], request["x-two"]] })
      assert_equal([1, 1], origin.requests.map(&:connection))
      assert_nil(response.phases)
      client.get(origin.url("/"))
      assert_nil(origin.requests.last["x-two"])
    end
  end

  def test_an_option_takes_the_place_of_the_clients
    with_origin(auth: { bearer: "first" }, timeout: 5, retries: 2) do |client, origin|
      other = client.with(auth: { bearer: "second" }, base: origin.url("/a/"))
      other.get("b")
      assert_equal([["authorization", "Bearer second"], "/a/b"],
                   [origin.requests.last.fields.assoc("authorization"), origin.requests.last.target])
      assert_equal([5.0, 2], [other.timeouts.total, other.settings.retries.count])
    end
  end

  def test_the_jar_is_the_same_unless_another_is_given
    with_origin("/" => always("", fields: ["Set-Cookie: a=1"]), cookies: true) do |client, origin|
      client.get(origin.url("/"))
      client.with(timeout: 5).get(origin.url("/x"))
      client.with(cookies: nil).get(origin.url("/x"))
      assert_equal([nil, "a=1", nil], origin.requests.map { |request| request["cookie"] })
    end
  end

  def test_closing_it_leaves_the_first_ones_connections
    with_origin do |client, origin|
      client.with(timeout: 5).tap { |other| other.get(origin.url("/")) }.close
      client.get(origin.url("/"))
      assert_equal([1, 1], origin.requests.map(&:connection))
    end
  end

  def test_options_of_connections_make_connections_of_its_own
    with_origin do |client, origin|
      client.get(origin.url("/"))
      other = client.with(pool: { max: 1 })
      other.get(origin.url("/"))
      other.close
      assert_equal([1, 2], origin.requests.map(&:connection))
      assert_idle(client)
    end
  end

  def test_the_one_connection_of_both_goes_from_one_to_the_other
    with_origin(pool: { max: 1, wait: 5 }) do |client, origin|
      other = client.with(headers: { "X" => "1" })
      80.times { |number| (number < 40 || number.even? ? client : other).get(origin.url("/")) }
      assert_equal([1], origin.requests.map(&:connection).uniq)
    end
  end

  def test_wrong_options_are_refused
    with_origin { |client, _| assert_raises(Plait::UsageError) { client.with(nothing: 1) } }
  end
end
