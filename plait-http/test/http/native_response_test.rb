# frozen_string_literal: true

require "test_helper"
require "objspace"
require "plait/http"
require "socket"
require_relative "response_cases"

if Plait.const_get(:Native).available?
  # What NativeResponse keeps in C, besides what it has in common with its twin.
  class NativeResponseTest < Minitest::Test
    include ResponseCases

    Response = Plait::HTTP.const_get(:NativeResponse)
    MEMBERS = %i[body url phases trailers request index].freeze

    def response_class = Response

    def answer(bytes, kind: 0)
      ours, theirs = UNIXSocket.pair
      theirs.write(bytes)
      theirs.close_write
      wire = Plait::HTTP.const_get(:NativeWire).new(ours)
      wire.call("GET / HTTP/1.1\r\nHost: origin\r\n\r\n", nil, kind, nil, nil)
    ensure
      [wire, theirs].each(&:close)
    end

    def test_what_the_head_says
      head = "HTTP/1.0 418 I'm a teapot\r\nContent-Encoding: gzip\r\nX: \xFF\r\n\r\n".b
      response = answer("#{head}tea".b)
      assert_equal([418, "1.0", "I'm a teapot", head, true, "tea"],
                   [response.status, response.version, response.reason, response.head_bytes, response.encoded?, response.body])
      assert_equal([Encoding::BINARY] * 2, [response.head_bytes.encoding, response.body.encoding])
      assert_equal([Encoding::UTF_8, []], [response.reason.encoding, response.trailers])
      assert_predicate(response.trailers, :frozen?)
    end

    def test_reasons_as_they_come
      { "" => "", " " => "", " \u00fc" => "\u00fc", " \xFF" => "\xFF".b }.each do |written, reason|
        response = answer("HTTP/1.1 204#{written}\r\n\r\n")
        assert_equal([reason, reason.encoding], [response.reason, response.reason.encoding])
      end
    end

    # Only a Request is returned as it was given.
    def member(name) = name == :request ? Plait::HTTP::Request.new(:get, "http://a/") : "the #{name}"

    def test_members
      response = Response.build(status: 200, url: nil)
      MEMBERS.each do |name|
        response.public_send(:"#{name}=", value = member(name))
        assert_same(value, response.public_send(name))
      end
    end

    # They are marked, and written with a barrier: the response is old when the others are new.
    def test_what_is_set_lives_as_long
      response = Response.build(status: 200)
      4.times { GC.start }
      MEMBERS.each { |name| response.public_send(:"#{name}=", member(name)) }
      GC.start(full_mark: false)
      GC.compact if GC.respond_to?(:compact)
      Array.new(10_000) { "something else".dup }
      assert_equal(MEMBERS.map { |name| member(name).inspect }, MEMBERS.map { |name| response.public_send(name).inspect })
    end

    def test_built_ones
      response = Response.build(status: 299, headers: { "A" => "b", "Content-Encoding" => "br" }, body: "x", version: "2",
                                reason: "Fine", url: "http://a/")
      assert_equal([299, "2", "Fine", "b", true, "x", "http://a/", [0.0] * 3],
                   [response.status, response.version, response.reason, response["a"], response.encoded?, response.body,
                    response.url, response.durations])
    end

    def test_what_are_no_durations
      response = Response.build(status: 200)
      { nil => TypeError, [0.1, 0.2] => ArgumentError, [0.1] * 4 => ArgumentError, [0.1, 0.2, "x"] => TypeError }
        .each { |value, error| assert_raises(error, value.inspect) { response.durations = value } }
      assert_equal([0.0] * 3, response.durations)
    end

    def test_what_can_not_be_assembled
      {
        ["x", 200, 3, 0, 0, false] => ArgumentError, ["x", 200, 1, 2, 0, false] => ArgumentError,
        ["x", 200, 1, 1, 1, false] => ArgumentError, ["x", 70_000, 1, 0, 0, false] => RangeError,
        [nil, 200, 1, 0, 0, false] => TypeError
      }.each do |arguments, error|
        assert_raises(error, arguments.inspect) { Response.send(:assemble, *arguments) }
      end
      assert_raises(NoMethodError) { Response.assemble("x", 200, 1, 0, 0, false) }
    end

    def test_there_is_no_response_without_a_head
      assert_raises(TypeError, NoMethodError) { Response.new }
      assert_raises(TypeError, NoMethodError) { Response.allocate }
    end

    def test_its_size_is_told
      assert_operator(ObjectSpace.memsize_of(Response.build(status: 200, headers: { "A" => "b" * 5_000 })), :>, 5_000)
    end
  end
end
