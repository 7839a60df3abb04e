# frozen_string_literal: true

require "test_helper"
require "plait/protocols/prometheus"

class PrometheusTest < Minitest::Test
  def test_a_figure_has_its_help_and_its_type
    text = prometheus.gauge("plait_threads", "Threads.", 3).counter("plait_calls_total", "Calls.", 0.5).to_s

    assert_equal <<~TEXT, text
      # HELP plait_threads Threads.
      # TYPE plait_threads gauge
      plait_threads 3
      # HELP plait_calls_total Calls.
      # TYPE plait_calls_total counter
      plait_calls_total 0.5
    TEXT
  end

  def test_labels_are_escaped
    text = prometheus.family("plait_up", "gauge", "Up.", { { node: "a\"b\\c\nd", id: 1 } => 1 }).to_s

    assert_equal "plait_up{node=\"a\\\"b\\\\c\\nd\",id=\"1\"} 1", text.lines.last.chomp
  end

  def test_a_family_without_rows_is_not_there
    assert_empty prometheus.family("plait_up", "gauge", "Up.", {}).histogram("plait_seconds", "Seconds.", [1], {}).to_s
  end

  def test_a_bucket_holds_those_below_it
    text = prometheus.histogram("plait_seconds", "Seconds.", [0.1, 1], { { command: "GET" } => [[2, 3, 4], 9.5] }).to_s

    assert_equal <<~TEXT, text
      # HELP plait_seconds Seconds.
      # TYPE plait_seconds histogram
      plait_seconds_bucket{command="GET",le="0.1"} 2
      plait_seconds_bucket{command="GET",le="1"} 5
      plait_seconds_bucket{command="GET",le="+Inf"} 9
      plait_seconds_sum{command="GET"} 9.5
      plait_seconds_count{command="GET"} 9
    TEXT
  end

  private

  def prometheus = Plait.const_get(:Protocols)::Prometheus.new
end
