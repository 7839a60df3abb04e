# frozen_string_literal: true

require "plait/http"
require "stringio"

module ResponseCases
  # Of a response that another process has received.
  module Travel
    def test_it_travels_between_processes
      original = build(status: 201, reason: "Made", headers: [["A", "\xE9".b], *HEADERS], body: "\xff".b, version: "2",
                       url: "http://h/")
      original.index = 4
      original.trailers = [%w[Digest abc]]
      original.durations = [0.5, 0.25, 0.125]
      original.phases = Plait.const_get(:Io)::Connector::Phases.new(nil, 0.25, 0.5)
      original.redirects = [build(status: 301, url: "http://g/")]
      copy = Marshal.load(Marshal.dump(original))
      %i[status reason version head_bytes body url index encoded? trailers durations phases].each do |name|
        assert_equal(original.public_send(name), copy.public_send(name), name)
      end
      assert_equal([original.headers, ["http://g/"]], [copy.headers, copy.redirects.map(&:url)])
      assert_equal("", Marshal.load(Marshal.dump(build(status: 200))).reason)
    end

    def test_what_was_asked_travels_without_its_body
      response = build(status: 200, url: "http://h/")
      response.request = Plait::HTTP::Request.new(:post, "http://h/", body: StringIO.new("x"), auth: -> {},
                                                                      headers: { "A" => "b" })
      asked = Marshal.load(Marshal.dump(response)).request
      assert_equal(["POST", "http://h/", "b"], [asked.method, asked.url.to_s, asked.headers["a"]])
      assert_equal([nil, nil], [asked.body, asked.auth])
      assert_instance_of(StringIO, response.request.body)
    end
  end
end
