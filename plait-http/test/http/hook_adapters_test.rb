# frozen_string_literal: true

require_relative "scripted_origin"

# What makes calls events of ActiveSupport::Notifications, and spans of OpenTelemetry.
class HTTPHookAdaptersTest < Minitest::Test
  include ClientCases

  def test_events_of_active_support
    need("plait/http/active_support_hook")
    with_origin("/x" => ->(_io, _) { false }, hooks: Plait::HTTP::ActiveSupportHook.new) do |client, origin|
      done, failed = events { [client.get(origin.url("/")), assert_raises(Plait::Error) { client.get(origin.url("/x")) }] }
      assert_equal(["GET", origin.url("/"), 200], done.payload.values_at(:method, :url, :status))
      assert_operator(done.duration, :>=, done.payload[:timings].first_byte * 1000)
      assert_equal([origin.url("/x"), "Plait::ConnectionClosed"], [failed.payload[:url], failed.payload[:exception].first])
      assert_kind_of(Plait::ConnectionClosed, failed.payload[:exception_object])
    end
  end

  def test_events_of_calls_at_once_keep_their_own_times
    need("plait/http/active_support_hook")
    routes = { "/slow" => ->(io, _) { sleep(0.2) and io.write(answer) }, "/" => always }
    with_origin(**routes, hooks: Plait::HTTP::ActiveSupportHook.new) do |client, origin|
      said = events { client.fan_out([origin.url("/slow"), *[origin.url("/")] * 5]) }
      slow, fast = said.partition { |event| event.payload[:url].end_with?("slow") }
      assert_equal([1, 5], [slow.size, fast.size])
      assert_operator(slow.first.duration, :>=, 200)
    end
  end

  def test_spans_of_open_telemetry
    need("opentelemetry-sdk")
    need("plait/http/open_telemetry_hook")
    exporter = with_spans do |hook|
      with_origin("/x" => ->(_io, _) { false }, "/404" => always(status: "404 No"), hooks: hook) do |client, origin|
        client.get(origin.url("/?token=secret"))
        client.get(origin.url("/404"))
        assert_raises(Plait::Error) { client.get(origin.url("/x")) }
        @sent = origin.requests.map { |request| request["traceparent"][/\A00-(\h{32})-\h{16}-01\z/, 1] }.uniq
      end
    end
    spans = exporter.finished_spans
    assert_equal(@sent, spans.map(&:hex_trace_id))
    assert_equal([["GET", :client]], spans.map { |span| [span.name, span.kind] }.uniq)
    assert_equal([200, 404, nil], spans.map { |span| span.attributes["http.response.status_code"] })
    assert_equal([false, true, true], spans.map { |span| span.status.code == OpenTelemetry::Trace::Status::ERROR })
    assert_equal(["exception"], spans.last.events.map(&:name))
    refute_includes(spans.first.attributes["url.full"], "secret")
  end

  private

  def need(feature)
    require feature
  rescue LoadError
    skip("#{feature} needs a gem that is not installed: bin/setup test drivers")
  end

  def events(&block)
    said = []
    ActiveSupport::Notifications.subscribed(->(event) { said << event }, "request.plait_http", &block)
    said
  end

  def with_spans
    exporter = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
    provider = OpenTelemetry::SDK::Trace::TracerProvider.new
    provider.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(exporter))
    OpenTelemetry.propagation = OpenTelemetry::Trace::Propagation::TraceContext.text_map_propagator
    yield Plait::HTTP::OpenTelemetryHook.new(provider.tracer("test"))
    exporter
  end
end
