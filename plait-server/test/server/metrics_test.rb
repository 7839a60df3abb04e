# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/metrics"
require "plait/server/watch"
require "tempfile"

class ServerMetricsTest < Minitest::Test
  NETSTAT = <<~TEXT
    TcpExt: SyncookiesSent ListenOverflows ListenDrops
    TcpExt: 1 2 3
    IpExt: InNoRoutes
    IpExt: 0
  TEXT

  def test_what_prometheus_reads
    text = exposition
    assert_includes(text, "# TYPE plait_requests_total counter\nplait_requests_total 3\n")
    assert_includes(text, "plait_connections 5\n")
    assert_includes(text, "plait_listen_overflows_total 2\nplait_listen_drops_total 3\n".lines.first)
    assert_includes(text, "plait_responses_total{code=\"200\",class=\"2xx\"} 2\n")
    assert_includes(text, "plait_loop_blocked_total{route=\"GET /\\\"\"} 1\n")
    assert_includes(text, "plait_worker_memory_bytes{index=\"0\",pid=\"7\"} 4096\n")
    assert_includes(text, "plait_workers 1\n")
  end

  def test_histograms_add_up
    lines = exposition.lines(chomp: true).grep(/\Aplait_request_seconds/)
    counts = lines.grep(/_bucket/).map { |line| line[/ (\d+)\z/, 1].to_i }
    assert_equal([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2], counts)
    assert_equal(["plait_request_seconds_sum 60.0005", "plait_request_seconds_count 2"], lines.last(2))
    assert_match(/le="\+Inf"/, lines.grep(/_bucket/).last)
  end

  # Each line is a comment or a sample, each sample has a type that was told before, and none is there twice.
  def test_the_format
    types = {}
    samples = exposition.each_line(chomp: true).filter_map do |line|
      line.match(/\A# TYPE (\S+) (counter|gauge|histogram)\z/) { |type| types[type[1]] = type[2] }
      next if line.start_with?("# ")

      assert_match(/\A[a-z_]+(\{([a-z]+="(\\.|[^"\\])*",?)+\})? [-+0-9.e]+\z/, line)
      assert(types.key?(line[/\A[a-z_]+/].sub(/_(bucket|sum|count)\z/, "")) || types.key?(line[/\A[a-z_]+/]), line)
      line[/\A.* /]
    end
    assert_equal(samples.uniq, samples)
  end

  def test_as_an_app
    metrics = Plait::Server::Metrics.new { Plait::Server::Metrics::Exposition }
    assert_equal(404, metrics.call({ "PATH_INFO" => "/" }).first)
  end

  def test_a_system_that_does_not_tell
    assert_empty(Plait::Server::Metrics::Kernel.new("/no/such/file").figures)
  end

  private

  def exposition
    Tempfile.create do |file|
      file.write(NETSTAT)
      file.flush
      kernel = Plait::Server::Metrics::Kernel.new(file.path)
      status, headers, body = Plait::Server::Metrics.new(kernel) { report }.call({ "PATH_INFO" => "/metrics" })
      assert_equal([200, Plait.const_get(:Protocols)::Prometheus::CONTENT_TYPE], [status, headers["content-type"]])
      return body.join
    end
  end

  def report
    handling = Plait::Server.const_get(:Watch)::Buckets.new.tap { |buckets| [0.0005, 60].each { |seconds| buckets.add(seconds) } }
    { counters: { requests: 3, responses: { 200 => 2, 500 => 1 }, blocked: { "GET /\"" => 1 }, handling: handling.to_h },
      gauges: { connections: 5, memory: 4096 }, workers: [{ index: 0, pid: 7, memory: 4096 }] }
  end
end
