# frozen_string_literal: true

require "test_helper"
require "rake"
require_relative "../support/house/family"

# `rake release`, with a registry that only notes what it is asked.
class ReleaseTest < Minitest::Test
  Rake.load_rakefile(File.join(Support::ROOT, "rakelib/release.rake")) unless defined?(::Release)

  def test_pushes_in_the_order_of_the_dependencies
    assert_equal(%w[pkg/plait.gem pkg/plait-io.gem pkg/plait-rpc.gem], pushed(%w[plait-rpc plait-io plait]))
  end

  def test_goes_on_where_a_release_broke_off
    assert_equal(%w[pkg/plait-io.gem], pushed(%w[plait plait-io], there: "plait (1.2.0, 1.1.0)\n"))
    assert_equal(%w[pkg/plait.gem pkg/plait-io.gem], pushed(%w[plait plait-io], there: "plait (1.2.0.pre, 11.2.0)\n"))
  end

  def test_refuses_unequal_versions
    specs = [spec("plait", "1.2.0"), spec("plait-io", "1.1.0")]
    error = assert_raises(RuntimeError) { ::Release.new(specs) { flunk("nothing may be pushed") }.call }
    assert_match(/the family has one version, but there are .*1\.1\.0/, error.message)
  end

  def test_each_gem_comes_after_those_that_it_needs
    Support::FAMILY.each_with_index do |gem, place|
      assert_empty(Support::House::Family.dependencies(gem) - Support::FAMILY.first(place), gem)
    end
    assert_equal(Dir["#{Support::ROOT}/*/*.gemspec"].map { |path| File.basename(path, ".gemspec") }.sort, Support::FAMILY.sort)
  end

  private

  def spec(name, version = "1.2.0") = Gem::Specification.new(name, version)

  def pushed(names, there: "")
    asked = []
    release = ::Release.new(names.map { |name| spec(name) }) do |command|
      asked << command
      there.lines.find { |line| line.start_with?("#{command.last} ") }.to_s
    end
    release.call
    asked.grep(->(command) { command[1] == "push" }).map(&:last)
  end
end
