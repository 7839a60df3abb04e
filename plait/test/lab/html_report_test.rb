# frozen_string_literal: true

require_relative "builders"
require "support/chromium"
require "minitest/mock"
require "tmpdir"

class LabHtmlReportTest < Minitest::Test
  include LabBuilders

  Plots = Plait::Lab.const_get(:Plots)

  HOSTILE = %q(<script>alert("x")</script></script><img src=x onerror=alert(1)> & 'quotes' <!-- )

  def test_the_page_draws_itself_in_a_browser
    page = opened(sample)
    assert_empty(page.errors)
    assert_nil(attribute(page, "errors"))
    assert_equal(drawings(sample).to_s, attribute(page, "drawn"))
    assert_equal(Plots.of(sample).size, page.dom.scan('<details class="figures">').size, "folded when it is drawn")
  end

  def test_every_drawing_has_marks
    drawn = opened(sample).dom.scan(%r{<div class="plot[^>]*>.*?</svg>}m)
    assert_equal(drawings(sample), drawn.size)
    drawn.each { |drawing| assert_match(/<path[^>]* d="M/, drawing[/mark-(rect|symbol|line|rule) .*/m]) }
  end

  def test_labels_are_text_whatever_they_hold
    hostile = row(:threads, 1.0, 1.1, label: HOSTILE, group: HOSTILE)
    failed = Lab::Row.new(cell(:fibers, label: "f"), [Lab::Measurement.failed("f", HOSTILE)])
    page = opened(report(hostile, failed, title: HOSTILE))
    shown = page.dom.gsub(%r{<script.*?</script>}m, "")
    assert_empty(page.errors)
    assert_nil(shown[/<img.{0,80}/])
    assert(shown.include?("&lt;img src=x onerror=alert(1)&gt;"))
    assert_equal("5", attribute(page, "drawn"))
  end

  def test_nothing_is_asked_of_the_network
    page = sample.to_html
    ours = page.gsub(%r{<script>.*?</script>}m, "").gsub(/<!--.*?-->/m, "")
    assert_nil(ours[%r{(src|href|action|url)\s*[=(]\s*["']?\s*(https?:)?//.*}i])
    assert_match(/Content-Security-Policy" content="default-src &#39;none&#39;/, ours)
    assert_equal(page.scan(/<script\b/i).size, page.scan(%r{</script>}i).size)
  end

  # The policy would report what it had to block as an error of the page.
  def test_the_policy_would_notice
    Dir.mktmpdir("plait-test-") do |folder|
      path = File.join(folder, "r.html")
      File.write(path, sample.to_html.sub("<body>", '<body><img src="http://127.0.0.1:9/x.png">'))
      assert_match(/\Ablocked: /, attribute(Support::Chromium.open(path), "errors"))
    end
  end

  def test_each_drawing_has_its_figures_below
    page = sample.to_html
    assert_equal(Plots.of(sample).size, page.scan('<details class="figures" open>').size)
    assert(page.include?("Redistribution and use in source and binary forms"), "the licence of the drawing library")
  end

  def test_mismatch_and_interruption_stand_out
    page = report(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0)), interrupted: true).to_html
    assert_equal(["The results differ, so nothing is said about speed.", "It was interrupted: this is what had been " \
                                                                         "measured until then."],
                 page.scan(%r{role="alert">([^<]*)</p>}).flatten)
    assert_nil(page[/<figure.*/])
  end

  def test_without_the_drawing_library_the_tables_remain
    Lab.const_get(:HtmlReport)::Vega.stub(:missing, "The drawings are left out") do
      page = sample.to_html
      assert_includes(page, "The drawings are left out")
      assert_includes(page, "<details")
      assert_nil(page[/vegaEmbed.*/])
    end
  end

  def test_its_size_stays_bounded
    large = Array.new(12) do |number|
      row(:threads, 1.0, 1.1, limit: number + 1).tap do |one|
        bars = Array.new(800) { |bar| [bar % 32, bar / 32, (bar / 32) + 0.9, 1] }
        one.trials.each { |trial| trial.timeline = timeline(bars: bars, slots: 32, workers: 32) }
      end
    end
    assert_operator(report(*large).to_html.bytesize, :<, 5_000_000)
  end

  private

  def sample
    @sample ||= report(row(:sequence, 3.0, 3.1), row(:threads, 1.0, 1.1, limit: 2), row(:threads, 0.5, 0.6, limit: 8))
  end

  def drawings(report) = Plots.of(report).sum { |plot| plot.drawings.size }

  def opened(report)
    Dir.mktmpdir("plait-test-") { |folder| Support::Chromium.open(report.save(File.join(folder, "a report.html"))) }
  end

  # Of the root element, where the page's script leaves what happened.
  def attribute(page, name) = page.dom[/<html[^>]* data-#{name}="([^"]*)"/, 1]
end
