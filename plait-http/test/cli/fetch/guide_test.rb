# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/commands/fetch"
require "shellwords"
require_relative "support/fetching"

# The commands of guides/fetch.md, run one after another in one folder.
class FetchGuideTest < Minitest::Test
  include Support::Fetching

  PAGE = File.read(File.join(Support::ROOT, "guides/fetch.md"))

  def test_its_commands
    site = origin { [200, { "Content-Type" => "text/html" }, "hello"] }
    write("urls.txt", "# a list\n\n#{site.url("/1")}\n#{site.url("/2")}\nnonsense\n")
    write("plait", "#!/bin/sh\nexec #{Shellwords.join(command([], nil))} \"$@\"\n")
    File.chmod(0o755, path("plait"))
    commands.each { |line| run_line(line.gsub("https://example.org/", site.url("/"))) }
    assert_equal([3, 4, 5], saved("answers.jsonl").map { |record| record["line"] })
    assert_equal(["nonsense"], saved("again.jsonl").map { |record| record["url"] })
  end

  def test_its_record
    shown = JSON.parse(PAGE[/^```json\n(.*?)^```/m, 1])
    site = origin { [200, { "Content-Type" => "text/html" }, "hello"] }
    given = records(fetch(site.url("/")).out).first
    assert_equal shown.keys, given.keys
    assert_empty shown["timings"].keys - given["timings"].keys
    assert_equal shown.values_at("ok", "status", "bytes", "body"), given.values_at("ok", "status", "bytes", "body")
  end

  def test_every_option_is_explained
    Plait::CLI::Fetch::OPTIONS.each do |name, settings|
      next if settings[:instead]

      assert_match(/`(?:-H, )?--#{name}|plait fetch[^\n]* --#{name}/, PAGE)
      next unless settings[:default] && PAGE.include?("| `--#{name} ")

      assert_includes PAGE, "`--#{name} #{settings[:default]}`"
    end
  end

  private

  def commands
    PAGE.scan(/^```sh\n(.*?)^```/m).flat_map { |block,| block.lines(chomp: true) }.map { |line| line.sub(/ +# [^']*\z/, "") }
  end

  # 1: something failed, as the line that is no URL does.
  def run_line(line)
    places = [folder, RbConfig::CONFIG["bindir"], ENV.fetch("PATH")].join(":") # of the Ruby whose gems the environment names
    out, status = Open3.capture2e(ENVIRONMENT.merge("PATH" => places), "sh", "-c", line, chdir: folder)
    assert_includes [0, 1], status.exitstatus, "#{line}\n#{out}"
    refute_match(/bug in plait|can't/, out, line)
  end
end
