# frozen_string_literal: true

require_relative "builders"
require "support/chromium"
require "tmpdir"

class LabHtmlReportTest < Minitest::Test
  include LabBuilders

  HOSTILE = %q(<script>alert("x")</script></script><img src=x onerror=alert(1)> & 'quotes' <!-- )

  # Nothing runs in it, so it is the same in a mail.
  def test_a_browser_has_nothing_to_say
    page = opened(sample)
    assert_empty(page.console)
    assert_equal(sample.to_html.scan("<svg").size, page.dom.scan("<svg").size)
    refute_match(/<script|style="(?!background:#)|onload/, page.dom)
  end

  def test_labels_are_text_whatever_they_hold
    hostile = row(:threads, 1.0, 1.1, label: HOSTILE, group: HOSTILE)
    failed = Lab::Row.new(cell(:fibers, label: "f"), [Lab::Measurement.failed("f", HOSTILE)])
    page = opened(report(hostile, failed, title: HOSTILE))
    assert_empty(page.console)
    assert_nil(page.dom[/<(img|script).{0,80}/])
    assert(page.dom.include?("&lt;img src=x onerror=alert(1)&gt;"))
  end

  def test_nothing_is_asked_of_the_network
    page = sample.to_html.gsub(' xmlns="http://www.w3.org/2000/svg"', "")
    assert_nil(page[%r{(src|href|action|url)\s*[=(]\s*["']?\s*(https?:)?//.*}i])
    assert_match(/Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;"/, page)
  end

  # The policy would report what it had to block as an error of the page.
  def test_the_policy_would_notice
    Dir.mktmpdir("plait-test-") do |folder|
      path = File.join(folder, "r.html")
      File.write(path, sample.to_html.sub("<body>", '<body><img src="http://127.0.0.1:9/x.png">'))
      assert_match(/Content Security Policy/, Support::Chromium.open(path).console.join)
    end
  end

  def test_the_answer_comes_first_and_figures_are_folded
    page = sample.to_html
    assert_operator(page.index("what the work does"), :<, page.index("<nav"))
    assert_equal(["Where the time goes, single items, memory", "The figures"], page.scan(/<details><summary>([^<]*)/).flatten)
    assert_equal(%w[part0 timelines manner], page.scan(/href="#(\w+)"/).flatten)
    assert_equal(page.scan(/href="#(\w+)"/), page.scan(/ id="(\w+)"/))
  end

  def test_a_table_without_a_title
    own = report(row(:sequence, 1.0))
    def (own.workload).tables(_rows) = [Plait::Lab::Table.new("", ["", "n"], [%w[a 1]])]
    assert_includes(own.to_html, "<h4></h4>")
  end

  def test_mismatch_and_interruption_stand_out
    page = report(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0)), interrupted: true).to_html
    assert_equal(["sleeping: the results differ, so nothing is said about speed",
                  "sleeping: it was interrupted: this is what had been measured until then"],
                 page.scan(%r{role="alert">([^<]*)</p>}).flatten)
    assert_nil(page[/<figure>.*/])
  end

  # 400 kB: what mail servers and issue trackers take.
  def test_its_size_stays_bounded
    large = %i[threads fibers].product([2, 4, 8, 16, 32, 64]).map do |on, limit|
      row(on, *[1.0, 1.1] * 20, limit: limit).tap { |one| one.trials.each { |trial| trial.timeline = dense } }
    end
    set = Lab::ReportSet.new(Array.new(6) { |number| report(*large, title: "subject #{number}") })
    assert_operator(set.to_html.bytesize, :<, 400_000)
  end

  private

  def dense = timeline(bars: Array.new(160) { |bar| [bar % 8, bar / 8, (bar / 8) + 0.9, 1] }, slots: 8, workers: 8)

  def sample
    @sample ||= report(row(:sequence, 3.0, 3.1), row(:threads, 1.0, 1.1, limit: 2), row(:threads, 0.5, 0.6, limit: 8))
  end

  def opened(report)
    Dir.mktmpdir("plait-test-") { |folder| Support::Chromium.open(report.save(File.join(folder, "a report.html"))) }
  end
end
