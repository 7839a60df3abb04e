# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/http"

class HTTPOriginTest < Minitest::Test
  Origin = Plait::HTTP::Origin

  def test_what_it_tells
    {
      [:http, "Host"] => %w[http://host host tcp://host:80], [:http, "host", 81] => %w[http://host:81 host:81 tcp://host:81],
      [:https, "host"] => %w[https://host host tls://host:443], [:https, "host", 80] => %w[https://host:80 host:80 tls://host:80],
      [:http, "::1"] => %w[http://[::1] [::1] tcp://[::1]:80], [:https, "::1", 8] => %w[https://[::1]:8 [::1]:8 tls://[::1]:8]
    }
      .each do |(scheme, host, port), told|
        origin = Origin.new(scheme, host, port)
        assert_equal(told, [origin.prefix, origin.host_header, origin.endpoint.to_s])
        assert_equal([origin.prefix, scheme == :https, true], [origin.to_s, origin.tls?, origin.frozen?])
        assert_predicate(origin.prefix, :frozen?)
      end
  end

  def test_equality
    origins = [Origin.new(:http, "host"), Origin.new(:http, "HOST", 80), Plait::HTTP::URL.parse("http://host/a").origin]
    assert_equal(1, origins.uniq.size)
    others = [Origin.new(:https, "host"), Origin.new(:http, "host", 443), Origin.new(:http, "host2")]
    others.each { |other| refute_equal(origins.first, other) }
    assert_equal(:found, { origins.first => :found }[origins.last])
    refute_equal(origins.first, "http://host")
  end
end
