# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "minitest/mock"
require "plait/suites"
require "plait/suites/computing"

class ComputingSuiteTest < Minitest::Test
  Computing = Plait::Suites::Computing

  # Known from elsewhere: below 1,000,000 the number 837,799 has the longest chain, 524 steps to 1.
  def test_collatz
    assert_equal 111, Computing::Collatz.chain(27)
    assert_equal [837_799, 524], Computing::Collatz.longest(837_000, 1_000)
  end

  def test_collatz_ranges_follow_each_other
    items = Computing::Collatz.items(3, 0.001)
    assert_equal [[1_000_000, 40], [1_000_040, 40], [1_000_080, 40]], items
  end

  def test_deflation_gives_length_and_checksum_of_the_deflated_hex
    seed, bytes = Computing::Deflation.items(2, 0.001).last
    assert_equal [1, 8_000], [seed, bytes]
    deflated = Zlib::Deflate.deflate(Random.new(1).bytes(4_000).unpack1("H*"))
    assert_equal [deflated.bytesize, Zlib.crc32(deflated)], Computing::Deflation::BODY.call([1, 8_000])
  end

  def test_every_mechanism_agrees
    Plait::Suites.fetch("computing").workloads(scale: 0.002, on: Computing::MECHANISMS).each do |workload|
      next if workload.name.end_with?("jruby")

      report = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
      assert(report.rows.none?(&:failed?))
      assert_empty report.mismatches
      measured = report.rows.select(&:measured?)
      assert_operator measured.size, :>=, 2
      assert_equal [16], measured.map { |row| row.measurements.first.items }.uniq
    end
  end

  def test_each_row_with_and_without_yjit
    skip("this Ruby has no YJIT, or uses it") unless defined?(RubyVM::YJIT) && !RubyVM::YJIT.enabled?
    workload = Plait::Suites.fetch("computing").workloads(scale: 0.002, on: %i[sequence threads]).last
    labels = ["sequence", "sequence with YJIT", "threads (limit #{Etc.nprocessors})",
              "threads (limit #{Etc.nprocessors}) with YJIT"]
    assert_equal ["computing-ruby-yjit", labels], [workload.name, workload.cells.map(&:label)]
    report = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
    assert_empty report.mismatches
    assert_equal [nil] * 4, report.rows.map(&:failure)
    assert_empty Plait::Suites.fetch("computing").workloads(on: %i[fibers], jruby: false).map(&:name).grep(/yjit/)
  end

  def test_bodies_and_items_may_go_to_a_ractor
    skip("no ractors here") unless defined?(Ractor)
    Computing::BODIES.each do |work|
      assert Ractor.shareable?(work.items(2, 0.001))
      assert Ractor.make_shareable(work::BODY)
    end
  end

  def test_without_a_jruby_a_note_says_how_to_get_one
    skip("this is one") if RUBY_ENGINE == "jruby"
    Plait::Suites::JRuby.stub(:find, nil) do
      workloads = Plait::Suites.fetch("computing").workloads(yjit: false)
      assert_equal %w[computing-zlib computing-ruby], workloads.map(&:name)
      assert_match(/gem install jruby-jars/, workloads.first.notes.join)
    end
  end
end
