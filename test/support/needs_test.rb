# frozen_string_literal: true

require_relative "../test_helper"
require_relative "needs"
require_relative "root"

class NeedsTest < Minitest::Test
  Needs = Support::Needs

  def test_plain_values_need_a_compiler_only
    needs = of("plait/test/values")
    assert_equal [%w[test], %w[build-essential ruby-dev]], [needs.groups, needs.packages]
  end

  def test_what_a_file_names_and_what_it_requires
    needs = of("plait/test/mechanisms")
    assert_equal %w[test drivers], needs.groups
    assert_empty %w[libmariadb-dev redis-server mariadb-server postgresql] - needs.packages
    refute_includes needs.packages, "chromium"
    assert_includes of("plait/test/lab").packages, "chromium"
    assert_includes of("test/jruby_test.rb").packages, "default-jre-headless"
    assert_includes of("test/signatures_test.rb").groups, "development"
    assert_includes of("plait-rpc/test/rpc").groups, "classic"
    refute_includes of("plait-db/test/db").groups, "classic"
  end

  def test_all_tests_need_no_more_than_everything
    everything = Needs.everything
    all = of("")
    assert_empty [all.groups - everything.groups, all.packages - everything.packages].flatten
    assert_equal everything.packages.sort, all.packages.sort
    assert_equal everything.groups.sort, all.groups.sort
  end

  def test_every_package_is_known
    named = Dir[File.join(Support::ROOT, "test/support/*_server.rb")].flat_map { |file| File.read(file).scan(/apt: "([^"]+)"/) }
    assert_empty named.flatten - Support::Packages::ALL.keys - %w[util-linux]
  end

  private

  def of(path)
    return Needs.of([File.join(Support::ROOT, path)]) if path.end_with?(".rb")

    trees = path.empty? ? "{test,plait*/test}" : path
    Needs.of(Dir.glob("#{trees}/**/*_test.rb", base: Support::ROOT).map { |file| File.join(Support::ROOT, file) })
  end
end
