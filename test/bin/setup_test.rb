# frozen_string_literal: true

require_relative "../test_helper"
require "open3"
require "rbconfig"
require "tmpdir"

# How the commands of a clone start.
class SetupTest < Minitest::Test
  SETUP = File.join(Support::ROOT, "bin/setup")

  def setup = @folder = Dir.mktmpdir("plait bin")

  def teardown = FileUtils.rm_rf(@folder)

  def test_a_program_is_started_with_its_arguments_and_its_name
    write("bundler/setup.rb", "$found = true")
    write("a program.rb", "p $found, ARGV, File.basename($PROGRAM_NAME)")
    out, err, status = Open3.capture3(environment, *start("a b", "--help"))
    assert_equal ["true\n[\"a b\", \"--help\"]\n\"a program.rb\"\n", "", 0], [out, err, status.exitstatus]
  end

  def test_ctrl_c_while_bundler_looks_for_gems_ends_it_without_a_word
    write("bundler/setup.rb", "File.write(#{path("begun").dump}, ''); sleep")
    write("a program.rb", "")
    pid = Process.spawn(environment, *start, err: path("err"))
    wait_until(what: "Bundler at work") { File.exist?(path("begun")) }
    Process.kill(:INT, pid)
    Process.wait(pid)
    assert_equal [Signal.list["INT"], ""], [Process.last_status.termsig, File.read(path("err"))]
  end

  def test_a_machine_without_a_compiler_is_told_so_before_anything_is_installed
    code = "load(ARGV[0]); begin; Setup.check_compiler; rescue Setup::Failed => e; puts e.message; end"
    out, = Open3.capture2(environment.merge("PATH" => @folder, "MAKE" => nil), RbConfig.ruby, "-e", code, SETUP)
    compiler = RbConfig::CONFIG["CC"].split.first
    assert_match(/\Amissing: #{compiler}, make.*\. A C compiler, make and Ruby's headers are needed: sudo apt-get install/, out)
    out, = Open3.capture2(environment, RbConfig.ruby, "-e", code, SETUP)
    assert_empty out
  end

  def test_no_package_is_installed_where_that_is_not_wanted
    write("apt-get", "#!/bin/sh\n: > #{path("installed").dump}\n")
    File.chmod(0o755, path("apt-get"))
    code = "load(ARGV[0]); Setup.define_singleton_method(:openssl?) { false }; Setup.provide_openssl"
    _, err, = Open3.capture3(environment.merge("PATH" => @folder, "PLAIT_INSTALL" => "0"), RbConfig.ruby, "-e", code, SETUP)
    refute_path_exists path("installed")
    assert_match(/\Aplait: no headers of OpenSSL: .* sudo apt-get install -y libssl-dev/, err)
  end

  private

  # In place of the Bundler around this test.
  def environment = { "RUBYOPT" => nil, "RUBYLIB" => @folder }

  def start(*arguments)
    [RbConfig.ruby, "-e", "load(ARGV.shift); Setup.start(*ARGV)", "--", SETUP, path("a program.rb"), *arguments]
  end

  def write(name, text)
    FileUtils.mkdir_p(File.dirname(path(name)))
    File.write(path(name), text)
  end

  def path(name) = File.join(@folder, name)
end
