# frozen_string_literal: true

require_relative "../test_helper"
require_relative "matrix"
require "rbconfig"
require "stringio"

# Which Rubies bin/matrix takes, and what it makes of their runs. Each Ruby here is a short program in the place of bin/test.
class MatrixTest < Minitest::Test
  GREEN = <<~RUBY
    puts "skipped:", "  2 × no Chromium", "", "1 s of CPU", "41 passed, 0 failed, 2 skipped"
  RUBY
  RED = <<~RUBY
    puts "skipped:", "  2 × no Chromium", "  1 × no fork", "", "failed:", "  plait/test/a_test.rb", "", "1 s of CPU"
    puts "3 passed, 1 failed, 3 skipped"
  RUBY
  Found = Struct.new(:name, :here?)

  def test_the_table_has_a_row_for_each_ruby
    rows = [outcome("ruby 3.1.2", GREEN), outcome("ruby 3.4.1", RED), outcome("jruby 10", "Process.kill(:KILL, $$)"),
            Support::Matrix::Row.new("ruby 3.3", remark: "its system can't be made: no network")]
    rows.each { |row| row.seconds &&= 7 }
    assert_equal(<<~TABLE, table(rows, ["ruby 3.2"]))

                                  passed  failed  skipped  seconds
      ruby 3.1.2                      41       0        2        7
      ruby 3.4.1                       3       1        3        7
      jruby 10                         –       –        –        7  no end: SIGKILL (signal 9)
      ruby 3.3                         –       –        –        –  its system can't be made: no network
      not here: ruby 3.2. PLAIT_RUBIES=/path/to/bin/ruby names a Ruby

      failed:
        plait/test/a_test.rb (ruby 3.4.1)

      skipped:
        2 × no Chromium (ruby 3.1.2, ruby 3.4.1)
        1 × no fork (ruby 3.4.1)
    TABLE
    assert_equal([true, false, false, false], rows.map(&:ok?))
  end

  def test_a_ruby_that_hangs_is_cut_off_and_what_it_has_done_counts
    hanging = '$stdout.sync = true; trap(:INT) { puts("7 passed, 0 failed, 0 skipped") || exit!(1) }; sleep'
    in_growing_times(1, 5, 25) do |limit|
      row = outcome("ruby 4.0", hanging, limit: limit)
      assert_equal([7, "cut off after #{limit} s", false, true], [row.passed, row.remark, row.ok?, row.cut?])
    end
  end

  def test_what_a_crash_said_last_is_in_the_table
    assert_equal('no end: exit 1, after "[BUG] lock"', outcome("ruby 4.0", 'puts("[BUG] lock"); exit(1)').remark)
  end

  def test_a_system_is_made_only_for_a_kind_that_is_not_here
    found = [Found.new("ruby 3.3.8", true), Found.new("jruby 10.1.2", true), Found.new("jruby 9.4", false),
             Found.new("ruby 3.3 (Debian trixie)", false), Found.new("jruby 10 (Debian sid)", false)]
    assert_equal(["ruby 3.3.8", "jruby 10.1.2", "jruby 9.4"], chosen(found))
    assert_equal(["jruby 10.1.2", "jruby 9.4"], chosen(found, "PLAIT_MATRIX" => "jruby"))
    assert_equal(["jruby 9.4", "ruby 3.3 (Debian trixie)", "jruby 10 (Debian sid)"], chosen(found.drop(2)))
  end

  def test_a_named_ruby_comes_before_others_of_its_minor_version
    Dir.mktmpdir do |folder|
      named = program(folder, "named", "ruby 3.3.1 3.3.1")
      program(folder, "ruby", "ruby 3.3.9 3.3.9")
      program(folder, "ruby3.4", "ruby 3.4.2 3.4.2")
      program(folder, "ruby3.0", "ruby 3.0.7 3.0.7")
      program(folder, "jruby", "jruby 10.1.2 4.0.0")
      with("PATH" => folder, "HOME" => folder, "PLAIT_RUBIES" => named) do
        assert_equal(["jruby 10.1.2", "ruby 3.3.1", "ruby 3.4.2"], Support::Matrix::Installed.all.map(&:name))
      end
    end
  end

  private

  def outcome(name, code, **options)
    Support::Matrix::Run.new(name, StringIO.new, **options).call(RbConfig.ruby, "--disable=gems", "-e", code)
  end

  def table(rows, missing) = StringIO.new.tap { |out| Support::Matrix::Table.new(rows, missing).print(out) }.string

  def chosen(found, environment = {})
    with({ "PLAIT_MATRIX" => nil, **environment }) { Support::Matrix.new("/", []).chosen(found).map(&:name) }
  end

  # @return [String] its path
  def program(folder, name, answer)
    path = File.join(folder, name)
    File.write(path, "#!/bin/sh\necho #{answer}\n")
    File.chmod(0o755, path)
    path
  end

  def with(environment)
    before = ENV.to_h.slice(*environment.keys)
    ENV.update(environment)
    yield
  ensure
    ENV.update(environment.transform_values { nil }.merge(before))
  end
end
