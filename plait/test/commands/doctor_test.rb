# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "support/command_line"
require "json"

class DoctorCommandTest < Minitest::Test
  include Support::CommandLine

  STATUSES = %w[ok limited missing unknown].freeze
  GROUPS = %w[ruby machine limits kernel mechanisms gems servers jruby].freeze

  def test_for_people
    result = plait("doctor")
    assert_equal [0, ""], [result.code, result.err]
    %w[Ruby Machine Limits Kernel Mechanisms Gems Servers JRuby].each { |group| assert_match(/^#{group}$/, result.out) }
    assert_match(/^  ✓ version +#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION}/, result.out)
    Plait::Mechanisms.names_for_jobs.each { |name| assert_match(/^  [✓✗] #{name} /, result.out) }
    assert_match(/Plait back/, result.out.lines.last)
  end

  def test_for_programs
    report = JSON.parse(plait("doctor", "--json").out)
    assert_equal 1, report["schema"]
    assert_equal GROUPS, report["checks"].map { |check| check["group"] }.uniq
    report["checks"].each do |check|
      assert_includes STATUSES, check["status"]
      assert_equal %w[group name status value text hint], check.keys
    end
  end

  def test_databases
    result = plait("doctor", "--databases")
    assert_equal [0, ""], [result.code, result.err]
    assert_match(/^Trilogy$.*^  ✓ query +waits in Ruby, as fibers can; the project measured \d\.\d\d × threads/m, result.out)
    assert_match(/^  ! large result +is read whole/, result.out)
    report = JSON.parse(plait("doctor", "--databases", "--json").out)
    assert_equal %w[trilogy mysql2 postgres sqlite redis mongo], report["checks"].map { |check| check["group"] }.uniq
  end

  def test_wraps_beside_the_names
    result = plait("doctor", env: { "COLUMNS" => "60" })
    long = result.out.lines(chomp: true).reject { |line| line.include?("→") }.select { |line| line.size > 60 }
    assert_empty long
  end
end
