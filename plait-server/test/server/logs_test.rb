# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/configuration"
require "plait/server/logs"
require "open3"
require "rbconfig"
require "tmpdir"

class ServerLogsTest < Minitest::Test
  # An app may have gone elsewhere.
  def test_they_stay_in_the_folder_of_the_server
    Dir.mktmpdir do |folder|
      out = run_in(folder, <<~RUBY)
        logs = Plait::Server::Logs.new(Plait::Server::Configuration.of({ stdout: "out", access_log: "access" }))
        Dir.chdir("/")
        logs.reopen
        puts "said"
      RUBY
      assert_equal(["", "said\n", true], [out, File.read("#{folder}/out"), File.exist?("#{folder}/access")])
    end
  end

  # freopen(3) would have closed the stream: the next connection would get its number, and what is printed.
  def test_what_can_not_be_opened_anew_goes_on
    Dir.mktmpdir do |folder|
      run_in(folder, <<~RUBY)
        Dir.mkdir("a")
        logs = Plait::Server::Logs.new(Plait::Server::Configuration.of({ stdout: "a/out", stderr: "err", access_log: "a/access" }))
        File.rename("a", "b")
        logs.reopen
        puts "said"
      RUBY
      assert_equal("said\n", File.read("#{folder}/b/out"))
      lines = File.readlines("#{folder}/err", chomp: true)
      assert_equal(%w[out access], lines.map { |line| line[%r{\Aplait: the log .*/a/(\w+) can't be opened again: No such}, 1] })
    end
  end

  # IO#reopen raises in a thread that is about to print, and leaves the stream buffered for a moment: what is printed then keeps
  # all that comes after it from the file, until there are 8 KB.
  def test_who_prints_meanwhile_is_not_disturbed
    Dir.mktmpdir do |folder|
      run_in(folder, <<~RUBY)
        logs = Plait::Server::Logs.new(Plait::Server::Configuration.of({ stdout: "out" }))
        Thread.abort_on_exception = true
        over = false
        printed = [0] * 4
        printers = Array.new(4) { |one| Thread.new { puts("\#{one} \#{printed[one] += 1}") until over } }
        100.times do
          logs.reopen
          before = printed.sum
          Thread.pass until printed.sum > before + 4
        end
        over = true
        printers.each(&:join)
        File.write("lines", "\#{printed.sum} \#{File.readlines("out").uniq.grep(/\\A\\d \\d+\\n\\z/).size}")
      RUBY
      printed, written = File.read("#{folder}/lines").split
      assert_equal(printed, written)
    end
  end

  def test_what_is_wrong
    configuration = Plait::Server::Configuration.of({ stderr: "no/such/log" })
    error = assert_raises(Plait::UsageError) { Plait::Server::Logs.new(configuration, "/a") }
    assert_equal("the log /a/no/such/log can't be opened: No such file or directory", error.message)
  end

  private

  def run_in(folder, program)
    libraries = $LOAD_PATH.flat_map { |path| ["-I", path] }
    out, = Open3.capture2(RbConfig.ruby, *libraries, "-rplait/server", "-rplait/server/logs", "-rplait/server/configuration",
                          "-e", program, chdir: folder)
    out
  end
end
