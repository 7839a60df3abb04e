# frozen_string_literal: true

require "test_helper"
require "plait/suites"
require "plait/suites/http"
require "plait/suites/http/ways/plait_client"

class HttpSuiteTest < Minitest::Test
  Suites = Plait::Suites
  Http = Suites::Http

  def test_rows
    workload = build
    labels = workload.cells.map(&:label)
    ["plain", "keep-alive", "threads (limit 10)", "threads + keep-alive (limit 50)", "fibers (limit 10)",
     "fibers + keep-alive (limit 50)", "hybrid + keep-alive (limit 50)", "processes (limit 16)",
     "processes × fibers + keep-alive (limit 2 × 25)", "fibers + sockets, one byte a read (limit 50)",
     "fibers + kept sockets (limit 50)", "Plait::HTTP", "hybrid + Plait::HTTP (limit 50)"].each { |label| assert_includes labels, label }
    assert_equal "HTTP: 50 requests of 612 bytes, answered after 50 ms", workload.title
  end

  def test_limits_and_sizes_as_asked
    workload = build(requests: 5_000, limits: [1_000])
    assert_equal [5_000], workload.cells.map { |cell| cell.items.size }.uniq
    assert_equal [1_000], workload.cells.select { |cell| cell.on == :fibers }.map(&:limit).uniq
    refute_includes workload.cells.map(&:on), :sequence, "it would take 250 s"
    assert_equal ["One after another, 5000 requests would take 250 s; these rows are left out unless --on names sequence."],
                 workload.notes
  end

  def test_what_takes_long_is_run_where_it_is_asked_for
    workload = build(requests: 5_000, on: %i[sequence fibers])
    assert_equal %i[sequence fibers], workload.cells.map(&:on).uniq
    assert_empty workload.notes
  end

  def test_a_table_for_each_latency
    workloads = Suites.fetch("http").workloads(latency: [0, 0.01, 0.1])
    assert_equal(%w[http-0ms http-10ms http-100ms], workloads.map(&:name))
    assert_match(/answered after 10 ms/, workloads[1].title)
    assert_raises(Plait::UsageError) { Suites.fetch("http").workloads(latency: [0, -1]) }
  end

  def test_every_row_asks_the_same_and_the_origin_counts_each_apart
    in_growing_times(0.2, 1, 4) { |latency| assert_counted_apart(latency) }
  end

  def assert_counted_apart(latency)
    workload = build(requests: 4, latency: latency, limits: [3], on: %i[sequence threads fibers processes])
    report = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
    assert_empty report.rows.filter_map(&:failure)
    assert_empty report.mismatches
    counted = workload.notes.first.scan(/[:;] ([^;]+): (\d)/).to_h
    assert_equal({ "plain" => "1", "keep-alive" => "1", "Plait::HTTP" => "1" }, counted.select { |_, most| most == "1" })
    assert_equal(%w[3], counted.values_at("threads (limit 3)", "threads + keep-alive (limit 3)", "fibers + sockets (limit 3)",
                                          "fibers + sockets, one byte a read (limit 3)", "fibers + kept sockets (limit 3)",
                                          "fibers + Plait::HTTP (limit 3)", "processes + Plait::HTTP (limit 3)").uniq)
  end

  def test_only_kept_connections_are_used_again
    %i[sequence threads fibers].each do |on|
      assert_equal 5, accepted_by(Http::OneShot, on), on
      [Http::KeepAlive, Http::KeptSocket].each { |kept| assert_includes 1..2, accepted_by(kept, on), on }
      assert_includes 1..2, accepted_by(Http::PlaitClient, on, 2), on
    end
  end

  # The answers come when all can have been asked for: on a slow machine that takes long.
  def test_a_thousand_at_once
    most = [2.0, 8.0, 30.0].lazy.map { |latency| most_in_flight(latency) }.find { |number| number >= 1_000 }
    assert_equal 1_000, most
  end

  def most_in_flight(latency)
    target = Http::EmbeddedTarget.new(latency: latency, size: 100)
    row = target.row("all")
    target.around do
      ids = Plait.map((0...1_000).to_a, on: :fibers, limit: 1_000, &Http::KeepAlive.new(row).to_proc)
      assert_equal (0...1_000).to_a, ids
    end
    Integer(target.notes.first[/all: (\d+)\./, 1])
  end

  def test_a_wrong_answer_is_noticed
    target = Http::EmbeddedTarget.new(latency: 0, size: 100)
    target.around do
      row = target.row("x")
      error = assert_raises(Http::EmbeddedTarget::WrongAnswer) { row.verify(1, Net::HTTP.get_response(row.uri(2))) }
      assert_match(%r{/bytes/100\?id=1&row=0 was answered with 200 and 100 bytes, which are not}, error.message)
    end
  end

  def test_a_connection_is_not_used_again_after_an_error
    server = TCPServer.new("127.0.0.1", 0)
    port = server.local_address.ip_port
    row = Struct.new(:port) do
      def uri(_id) = URI("http://127.0.0.1:#{port}/")
      def path(_id) = "/"
      def verify(*) = nil
    end
    thread = Thread.new { server.accept.tap { |socket| socket.write("nonsense\r\n\r\n") }.close }
    body = Http::KeepAlive.new(row.new(port))
    assert_raises(Net::HTTPBadResponse) { body.call(1) }
    assert_empty body.instance_variable_get(:@idle)
  ensure
    thread.join
    server.close
  end

  def test_a_site
    Suites::Origin.open(latency: 0) do |origin|
      workload = build(url: origin.uri("/bytes/100").to_s, requests: 3, on: %i[sequence fibers])
      report = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
      assert_empty report.rows.filter_map(&:failure)
      assert_empty report.mismatches
      assert_match(/over the network/, workload.notes.first)
      assert_equal ["plain", "fibers (limit 3)", "keep-alive", "fibers + keep-alive (limit 3)", "Plait::HTTP",
                    "fibers + Plait::HTTP (limit 3)"], report.rows.map(&:label)
    end
  end

  def test_an_unreachable_site_is_told_before_anything_is_measured
    port = TCPServer.open("127.0.0.1", 0) { |server| server.local_address.ip_port }
    error = assert_raises(Suites::UnreachableOrigin) { build(url: "http://127.0.0.1:#{port}/x") }
    assert_match(%r{http://127.0.0.1:#{port}/x does not answer \(.*refused.*\): check the address}, error.message)
    error = assert_raises(Suites::UnreachableOrigin) { build(url: "http://no-such-host.invalid/") }
    assert_match(/does not answer/, error.message)
  end

  def test_a_site_that_answers_with_an_error
    Suites::Origin.open(latency: 0) do |origin|
      error = assert_raises(Suites::UnreachableOrigin) { build(url: origin.uri("/nowhere").to_s) }
      assert_match(/answered 404 Not Found: give an address that answers 200/, error.message)
    end
  end

  def test_a_site_that_breaks_off_is_told_before_anything_is_measured
    with_site(cut_short) do |url, _|
      error = assert_raises(Suites::UnreachableOrigin) { build(url: url) }
      assert_equal "#{url} broke off after 3 of the 100 bytes it had announced (Content-Length); nothing can be measured " \
                   "on answers that are not whole", error.message
    end
  end

  def test_a_body_that_breaks_off_later_is_no_success_for_any_client
    with_site(whole) do |url, answer|
      target = Http::SiteTarget.new(url)
      answer.replace(cut_short)
      [Http::OneShot.new(target), Http::KeepAlive.new(target)].each do |way|
        assert_match(/broke off after 3 of the 100 bytes/, assert_raises(Suites::UnreachableOrigin) { way.call(1) }.message)
      end
      assert_raises(Plait::TruncatedError) { Http::PlaitClient.new(target, 1).call(1) }
    end
  end

  def test_a_site_that_compresses
    with_site(compressed) do |url, answer|
      target = Http::SiteTarget.new(url)
      [Http::OneShot.new(target), Http::KeepAlive.new(target)].each { |way| assert_equal 1, way.call(1) }
      answer.replace(compressed.byteslice(0...-12))
      assert_raises(Zlib::BufError, Suites::UnreachableOrigin) { Http::OneShot.new(target).call(1) } # by Ruby 3.3, and before
    end
  end

  def test_a_site_that_says_nonsense
    with_site("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n") do |url, _|
      assert_match(/does not answer \(/, assert_raises(Suites::UnreachableOrigin) { build(url: url) }.message)
    end
  end

  def test_an_address_that_is_none
    ["ftp://x/", "nonsense", "http://", "http://a b/"].each do |url|
      error = assert_raises(Plait::UsageError, url) { build(url: url) }
      assert_match(%r{is no address.*https://example.org/}, error.message)
    end
  end

  def test_leaves_nothing
    assert_no_leaks { build(requests: 2, latency: 0).around { nil } }
  end

  private

  def build(**options) = Suites.fetch("http").workloads(**options).first

  def whole = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

  def cut_short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"

  # Shorter decoded than as it is sent.
  def compressed
    body = Zlib.gzip("abc")
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: #{body.bytesize}\r\n\r\n".b + body
  end

  # A server that says the same to everybody, and closes.
  def with_site(answer)
    answer = +answer
    server = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new { loop { say(server.accept, answer) } }
    yield "http://127.0.0.1:#{server.local_address.ip_port}/", answer
  ensure
    thread&.kill&.join
    server&.close
  end

  def say(socket, answer)
    socket.gets("\r\n\r\n")
    socket.write(answer)
  ensure
    socket.close
  end

  # Five requests, two at a time.
  def accepted_by(body, on, *more)
    target = Http::EmbeddedTarget.new(latency: 0.01, size: 10)
    target.around do
      Plait.map([*1..5], on: on, limit: on == :sequence ? 1 : 2, &body.new(target.row("x"), *more).to_proc)
      JSON.parse(Net::HTTP.get(target.uri("/stats"))).fetch("accepted") - 1
    end
  end
end
