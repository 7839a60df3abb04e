# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"
require "json"

class LabReportTest < Minitest::Test
  include LabBuilders

  def test_json_says_what_was_measured_and_where
    data = JSON.parse(sample.to_json)
    one = data["reports"].first
    assert_equal([2, 2], [data["schema"], one["schema"]])
    assert_equal(["sleep", "naps"], one["workload"].values_at("name", "unit"))
    assert_equal([7, { "asked" => 3, "done" => 3 }], one.values_at("seed", "rounds"))
    assert_equal(RUBY_VERSION, one["environment"]["ruby_version"])
  end

  def test_json_has_a_row_for_each_cell
    first, second = JSON.parse(sample.to_json)["reports"].first["rows"]
    assert_equal({ "median" => 10.05, "min" => 10.0, "max" => 10.1, "n" => 2 }, first["wall_s"])
    assert_equal([false, true], [first["fastest"], second["fastest"]])
    assert_in_delta(10.05 / 3.05, first["ratio"])
    assert_in_delta(1234.0, first["allocated_per_item"]["bytes"])
    assert_equal(%w[p50 p90 p99 max], first["latency_s"].keys)
  end

  def test_json_has_the_raw_samples_and_the_answer
    rows = [row(:sequence, 10.0, 10.1), Lab::Row.new(cell(:threads), [measurement(3.0)], twin: [nil, 3.5])]
    one = JSON.parse(report(*rows).to_json)["reports"].first
    assert_equal([[10.0, 10.1], [3.0]], one["rows"].map { |row| row["samples"].map { |sample| sample["wall_s"] } })
    assert_equal(%w[wall_s cpu_s gc_runs gc_time_s objects peak_bytes errors], one["rows"].last["samples"].first.keys)
    assert_equal([nil, 3.5], one["rows"].last["twin_wall_s"])
    assert_equal(["sleeping", nil, "unknown"], one["answers"].first.values_at("work", "use", "certainty"))
  end

  def test_csv_is_one_line_a_row
    odd = "odd, \"quoted\"\nlabel"
    lines = parse_csv(report(row(:sequence, 1.0, 2.0), row(:threads, 1.0, label: odd)).to_csv)
    assert_equal(["sequence", odd.tr("\n", " ")], lines.map { |line| line["label"] })
    wanted = { "workload" => "sleep", "wall_s_median" => "1.5", "wall_s_min" => "1.0", "wall_s_max" => "2.0",
               "n" => "2" }
    assert_equal(wanted, lines.first.slice(*wanted.keys))
  end

  def test_what_is_loaded_is_what_was_saved
    own = report(row(%i[processes fibers], 1.0, limit: [2, 4], group: "a"), row(:threads, 2.0, group: "b"),
                 Lab::Row.new(cell(:ractors), []), error: IOError.new("gone"))
    def (own.workload).tables(rows) = [Plait::Lab::Table.new("mine", ["", "n"], rows.map { |row| [row.label, row.n.to_s] })]
    [sample, own, report(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0)), interrupted: true)].each do |one|
      Dir.mktmpdir("plait-test-") do |folder|
        loaded = Lab::ReportSet.load(one.save(File.join(folder, "report.json")))
        %i[to_s to_html to_markdown to_csv to_json].each { |form| assert_equal(one.public_send(form), loaded.public_send(form)) }
      end
    end
  end

  def test_a_list_of_numbers_is_one_line_and_a_label_stays_as_it_is
    saved = report(row(:sequence, 1.0, label: "[ 1,  2 ]"), row(:threads, 1.0)).to_json
    assert_includes(saved, '"[ 1,  2 ]"')
    assert_match(/\[ 0, 0\.0, 0\.5, 1 \]/, saved)
  end

  def test_a_file_that_is_no_report_says_so
    Dir.mktmpdir("plait-test-") do |folder|
      path = File.join(folder, "r.json")
      { "{" => /no JSON/, "\xff" => /no JSON/, "[]" => /no report/, "{\"reports\": [1]}" => /schema nil/,
        "{\"reports\": [{\"schema\": 9}]}" => /schema 9, and this version of plait reads 2/,
        "{\"reports\": [{\"schema\": 2, \"workload\": {}}]}" =>
          /damaged, or of another version, in workload, environment, .*, timelines: measure again/,
        "{\"reports\": []}" => /no report/ }.each do |content, message|
        File.binwrite(path, content)
        assert_match(message, assert_raises(Plait::UsageError) { Lab::ReportSet.load(path) }.message)
      end
    end
    assert_match(/can't read .*No such file/, assert_raises(Plait::UsageError) { Lab::ReportSet.load("/nowhere/r.json") }.message)
  end

  # Each value of a saved report, replaced by each of others: a message, or a report.
  def test_a_damaged_report_raises_nothing_else
    saved = JSON.generate(Lab::ReportSet.new([report(row(:sequence, 1.0), row(:threads, 2.0, limit: 2))]).to_h)
    Dir.mktmpdir("plait-test-") do |folder|
      path = File.join(folder, "r.json")
      mutations(JSON.parse(saved)) do |mutated|
        File.write(path, JSON.generate(mutated))
        set = Lab::ReportSet.load(path)
        %i[to_s to_html to_markdown to_csv to_json].each { |form| set.public_send(form) }
        Lab::Difference.new(set, set).to_s
      rescue Plait::UsageError
        next
      end
    end
  end

  def test_markdown_is_text_whatever_labels_hold
    text = report(row(:sequence, 2.0, label: "a|b <i>*\n_`x"), row(:threads, 1.0), notes: ["it rained"]).to_markdown
    assert_includes(text, "| a\\|b \\<i\\>\\* \\_\\`x | 2.00 s |")
    assert_match(/\A# Plait lab\n\nRuby .*\n\n\| what the work does \| use \|.*\n\| --- \| --- \| ---: \|/, text)
    assert_match(/^- it rained$/, text)
    assert_equal(1, text.scan("<details>").size)
  end

  def test_failures_and_interruptions_are_told
    failed = Lab::Row.new(cell(:threads), [Lab::Measurement.failed("threads", "no")])
    data = report(row(:sequence, 1.0), failed, interrupted: true, error: IOError.new("gone")).to_h
    assert_equal([true, "IOError: gone"], data.values_at(:interrupted, :error))
    assert_equal([nil, true, "no"], data[:rows].last.values_at(:wall_s, :failed, :failure))
  end

  def test_a_mismatch_keeps_the_figures_and_refuses_the_comparison
    data = report(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0))).to_h
    assert_equal(["threads"], data[:mismatches].first[:differing])
    assert_equal([[false, nil], [false, nil]], data[:rows].map { |row| row.values_at(:comparable, :ratio) })
    assert_in_delta(2.0, data[:rows].first[:wall_s][:median])
  end

  def test_several_reports_as_one
    set = Lab::ReportSet.new([sample, report(row(:sequence, 1.0), title: "other", interrupted: true)])
    assert_equal([false, true], set.to_h[:reports].map { |one| one[:interrupted] })
    assert_equal(4, set.to_csv.lines.size)
    assert_equal(2, set.to_html.scan('<section id="part').size)
  end

  def test_for_people
    text = report(row(:sequence, 2.0), row(:threads, 1.0), notes: ["it rained"]).to_s
    assert_match(%r{^  +time +min – max +n +naps/s .*\n +─+\n  sequence  2\.00 s }, text)
    assert_includes(text, "Ruby #{RUBY_VERSION}")
    assert_match(/\A[^\n]+\n\n  what the work does .*\n +─+\n  sleeping  +–  +no: too few rounds \(1\)\n\nsleeping\n/, text)
    assert_match(/^  it rained$/, text)
    assert_match(/no: the results differ\n\nThe results differ:\n  threads gave other results/,
                 report(row(:sequence, 2.0), row(:threads, 1.0, results: digest_of(0))).to_s)
    assert_match(/not measured\n\nsleeping\z/, report(Lab::Row.new(cell(:threads), [])).to_s)
  end

  def test_in_a_console_it_is_one_line
    failed = Lab::Row.new(cell(:fibers), [Lab::Measurement.failed("fibers", "no")])
    found = report(row(:sequence, 2.0), failed, Lab::Row.new(cell(:ractors), []))
    assert_equal("#<Plait::Lab::Report sleep: sequence 2.00 s, fibers no, ractors not measured>", found.inspect)
    assert_equal("#<Plait::Lab::Row sequence 2.00 s>", found.rows.first.inspect)
  end

  def test_the_ending_of_the_path_is_the_format
    Dir.mktmpdir("plait-test-") do |folder|
      paths = %w[json csv md html].map { |ending| sample.save(File.join(folder, "report.#{ending}")) }
      assert_equal(["{", "workload", "# Plait lab", "<!DOCTYPE html>"], paths.map do |path|
        File.read(path)[/\A(\{|\w+|<[^>]+>|# .*)/]
      end)
      error = assert_raises(Plait::UsageError) { sample.save(File.join(folder, "report.pdf")) }
      assert_match(/end it in \.html, \.json, \.csv or \.md/, error.message)
      assert_equal(4, Dir.children(folder).size)
    end
  end

  private

  # The csv library is no part of Ruby from 3.4 on.
  # @return [Array<Hash{String => String}>]
  def parse_csv(text)
    fields = text.scan(/("(?:[^"]|"")*"|[^",\n]*)([,\n])/)
    names, *lines = fields.slice_after { |_, ending| ending == "\n" }.map do |line|
      line.map { |field, _| field.start_with?("\"") ? field[1...-1].gsub("\"\"", "\"") : field }
    end
    lines.map { |line| names.zip(line).to_h }
  end

  def mutations(saved, node = saved, &block)
    keys = node.is_a?(Hash) ? node.keys : node.each_index.first(2)
    keys.each do |key|
      kept = node[key]
      [nil, 0, -1, "x", [], {}, [1], true, 1e300].each do |value|
        node[key] = value
        block.call(saved)
      end
      node[key] = kept
      mutations(saved, kept, &block) if kept.is_a?(Enumerable)
    end
  end

  def sample = report(row(:sequence, 10.0, 10.1), row(:threads, 3.0, 3.1))
end
