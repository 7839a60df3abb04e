# frozen_string_literal: true

require "test_helper"
require "minitest/mock"
require "support/fresh_ruby"
require "plait/suites/computing"
require "plait/suites/common/jruby"

# With this Ruby in the place of the other one, but for the last test.
class SuitesOnJRubyTest < Minitest::Test
  JRuby = Plait::Suites::JRuby
  Computing = Plait::Suites::Computing

  # A JVM takes a minute to start on a busy machine.
  def hard_timeout = 480

  def test_an_installed_jruby_is_found_in_the_path
    Dir.mktmpdir do |folder|
      program = File.join(folder, "jruby")
      File.write(program, "#!/bin/sh\n")
      File.chmod(0o755, program)
      with_path(folder) { assert_equal [program], JRuby.find.command }
    end
  end

  def test_the_jars_need_a_java
    Dir.mktmpdir do |folder|
      lib = File.join(folder, "gems/jruby-jars-9.4.9.0/lib")
      FileUtils.mkdir_p([lib, lib.sub("9.4.9", "9.4.15")])
      [lib, lib.sub("9.4.9", "9.4.15")].each { |path| FileUtils.touch(File.join(path, "jruby-core.jar")) }
      JRuby.stub(:folders, [folder]) do
        with_path(folder) { assert_nil JRuby.find }
        File.write(File.join(folder, "java"), "")
        File.chmod(0o755, File.join(folder, "java"))
        with_path(folder) do
          assert_equal [File.join(folder, "java"), "-cp", "#{folder}/gems/jruby-jars-9.4.15.0/lib/jruby-core.jar",
                        "org.jruby.Main"], JRuby.find.command
        end
      end
    end
  end

  def test_the_jars_of_gem_install_are_found_from_inside_a_bundle
    Dir.mktmpdir do |folder|
      lib = File.join(folder, "gems/jruby-jars-9.4.99.0/lib")
      FileUtils.mkdir_p(lib)
      FileUtils.touch(File.join(lib, "jruby-core.jar"))
      code = "ENV['BUNDLER_ORIG_GEM_HOME'] = ARGV[0]; require 'plait/suites/common/jruby'; p Plait::Suites::JRuby.jars_version"
      assert_equal "\"9.4.99.0\"\n", Support::FreshRuby.run(code, folder).out
    end
  end

  def test_a_measurement_comes_back
    measurement = measure("Plait::Suites::Computing.cell(Plait::Suites::Computing::Collatz, :threads, 0.001)")
    assert_predicate measurement, :ok?, measurement.failure
    assert_equal 16, measurement.items
    expected = Plait::Lab.const_get(:Trial).new(Computing.cell(Computing::Collatz, :sequence, 0.001)).run
    assert_equal expected.results.digest, measurement.results.digest
  end

  def test_a_subprocess_that_dies_is_told
    measurement = measure("raise(KeyError, 'no such thing')")
    assert_equal :died, measurement.failure_kind
    assert_match(/that Ruby ended without a result: .*no such thing/, measurement.failure)
  end

  def test_a_subprocess_that_hangs_is_killed
    assert_no_leaks do
      measurement = measure("sleep", -Computing::OnOtherRuby::START_SECONDS + 1)
      assert_equal :hung, measurement.failure_kind
    end
  end

  def test_a_real_one
    jruby = JRuby.find or skip(JRuby::ADVICE)
    call = "Plait::Suites::Computing.cell(Plait::Suites::Computing::Collatz, :threads, 0.01)"
    measurement = Computing::OnOtherRuby.jruby(jruby, call).call(cell, warmup: 1, bound: 60)
    assert_predicate measurement, :ok?, measurement.failure
    assert_equal 16, measurement.items
  end

  def test_the_origin_serves_a_jruby
    jruby = JRuby.find or skip(JRuby::ADVICE)
    command = [Computing::OnOtherRuby::ENVIRONMENT, *jruby.command, *Support::FLAGS, "-e", <<~RUBY]
      require "plait"
      require "plait/suites/http/origin"
      Plait::Suites::Origin.open(latency: 0.01) do |origin|
        body = Plait::Suites::Origin.body("/bytes/70000", 70_000)
        10.times { raise "wrong" unless Net::HTTP.get(origin.uri("/bytes/70000")) == body }
        puts origin.stats.fetch(:served)
      end
    RUBY
    assert_equal "10\n", IO.popen(command, err: File::NULL, &:read)
  end

  private

  def cell = Computing.cell(Computing::Collatz, :sequence, 0.001, label: "the row")

  def measure(call, bound = 60)
    Computing::OnOtherRuby.jruby(JRuby.new([RbConfig.ruby]), call).call(cell, warmup: 1, bound: bound)
  end

  def with_path(path)
    before = ENV.fetch("PATH")
    ENV["PATH"] = path
    yield
  ensure
    ENV["PATH"] = before
  end
end
