# frozen_string_literal: true

# bin/test: bundler

require "test_helper"
require "fileutils"
require "minitest/mock"
require "tmpdir"
require "plait/cli"
require "plait/cli/doctor/optional_gems"
require "plait/cli/doctor/ruby"

class DoctorSoftwareTest < Minitest::Test
  Doctor = Plait::CLI::Doctor
  Registry = Struct.new(:mechanisms) do
    def names = mechanisms.keys - %i[jobs]

    def names_for_jobs = mechanisms.keys

    def find(name) = mechanisms.fetch(name).call
  end
  Mechanism = Struct.new(:default_limit, :unavailable)

  def test_servers
    in_folder_with("valkey-server", "notes.txt") do |programs, folder|
      checks = Doctor::Servers.new(programs: programs).checks.to_h { |check| [check.name, check] }
      assert_equal([:ok, "#{folder}/valkey-server"], checks["redis-server"].then { |check| [check.status, check.text] })
      assert_equal :missing, checks["postgresql"].status
      assert_match(/install .*postgresql/, checks["postgresql"].hint)
    end
  end

  def test_a_file_that_can_not_be_run_is_no_program
    in_folder_with("nginx") do |programs, folder|
      File.chmod(0o644, "#{folder}/nginx")
      assert_nil programs.find("nginx")
    end
  end

  def test_folders_by_version_newest_first
    Dir.mktmpdir do |folder|
      %w[14 15].each { |version| executable("#{folder}/#{version}/bin", "postgres") }
      programs = Plait::Suites::Programs.new(path: "", folders: ["#{folder}/*/bin"])
      assert_equal "#{folder}/15/bin/postgres", programs.find("postgres")
    end
  end

  def test_jruby_found_in_each_way
    skip "this is JRuby" if RUBY_ENGINE == "jruby"
    in_folder_with("jruby") { |programs, folder| assert_equal "#{folder}/jruby", jruby(programs, nil).text }
    in_folder_with("java") do |programs, _|
      assert_match(/\Athe gem jruby-jars 9\.4\.1\.0, run by/, jruby(programs, "9.4.1.0").text)
    end
  end

  def test_how_to_get_jruby
    skip "this is JRuby" if RUBY_ENGINE == "jruby"
    in_folder_with("java") do |programs, _|
      assert_equal "gem install jruby-jars -v \"~> 9.4.0\"", jruby(programs, nil).hint
    end
    in_folder_with("cat") do |programs, _|
      assert_match(/\Agem install jruby-jars .* && .*install/, jruby(programs, nil).hint)
      assert_match(/\A(sudo apt-get|brew) install/, jruby(programs, "9.4.1.0").hint)
    end
  end

  def test_mechanisms_and_why_not
    registry = Registry.new({ threads: -> { Mechanism.new(16, nil) }, ractors: lambda {
      Mechanism.new(2, "this Ruby has none")
    },
                              broken: -> { raise LoadError, "no such file -- x" }, jobs: -> { Mechanism.new(100, nil) } })
    checks = Doctor::Ways.new(registry: registry).checks
    assert_equal %i[ok missing missing ok], checks.map(&:status)
    texts = ["available; 16 at once by default", "this Ruby has none", "can't be loaded: no such file -- x",
             "available for jobs (Plait.job), with a Redis and processes of Sidekiq; 100 at once by default"]
    assert_equal texts, checks.map(&:text)
  end

  def test_gems
    assert_equal Gem.loaded_specs["minitest"].version.to_s, Doctor::OptionalGems.version("minitest")
    assert_nil Doctor::OptionalGems.version("no-such-gem-anywhere")
    checks = Doctor::OptionalGems.new.checks
    assert_equal Doctor::OptionalGems::USES.keys, checks.map(&:name)
  end

  # `gem install` adds nothing to a bundle.
  def test_how_to_get_a_gem_depends_on_the_bundle
    { nil => "gem install parallel", "/somebody/Gemfile" => "bundle add parallel",
      File.join(Support::ROOT, "Gemfile") => "bin/setup drivers peers" }.each do |gemfile, hint|
      Doctor::OptionalGems.stub(:version, nil) { with_gemfile(gemfile) { assert_equal hint, gems_by_name["parallel"].hint } }
    end
  end

  private

  def gems_by_name = Doctor::OptionalGems.new.checks.to_h { |check| [check.name, check] }

  def with_gemfile(path)
    before = ENV.fetch("BUNDLE_GEMFILE", nil)
    ENV["BUNDLE_GEMFILE"] = path
    yield
  ensure
    ENV["BUNDLE_GEMFILE"] = before
  end

  def jruby(programs, jars) = Doctor::JRuby.new(programs: programs, jars: jars).checks.first

  def in_folder_with(*names)
    Dir.mktmpdir do |folder|
      names.each { |name| executable(folder, name) }
      yield Plait::Suites::Programs.new(path: folder, folders: []), folder
    end
  end

  def executable(folder, name)
    FileUtils.mkdir_p(folder)
    File.write("#{folder}/#{name}", "#!/bin/sh\n", perm: 0o755)
  end
end
