# frozen_string_literal: true

require "test_helper"
require_relative "support/fetching"

# Ended in the middle, in every way there is, and started again.
class FetchResumeTest < Minitest::Test
  include Support::Fetching

  LIMIT = 6
  COUNT = 120

  # A test that starts eight programs takes minutes on a slow machine.
  def hard_timeout = 300

  # The process kills itself when the nth of something happens: before it, in its middle, or after it.
  SUICIDE = <<~RUBY
    module Suicide
      WHERE, NTH, KIND = ENV.fetch("SUICIDE").split
      class << self
        attr_accessor :count
        def strike?(kind) = kind == KIND && (self.count = count.to_i + 1) == NTH.to_i
        def now = Process.kill(:KILL, Process.pid) && sleep
      end
    end
    class File
      prepend(Module.new do
        def write(text)
          return super unless Suicide.strike?(path.end_with?(".jsonl") ? "record" : path.end_with?(".part") ? "journal" : "body")

          super(text.byteslice(0, text.bytesize / 2)) if Suicide::WHERE == "in"
          super if Suicide::WHERE == "after"
          Suicide.now
        end
      end)
      singleton_class.prepend(Module.new do
        def rename(from, to)
          return super unless Suicide.strike?("rename")

          super if Suicide::WHERE == "after"
          Suicide.now
        end
      end)
    end
  RUBY

  ["before 1 record", "in 1 record", "after 1 record", "in 57 record", "after 57 record", "before 120 record", "in 120 record",
   "after 120 record", "in 1 journal", "in 2 journal", "before 2 rename", "after 2 rename"].each do |moment|
    define_method(:"test_killed_#{moment.tr(" ", "_")}") do
      site = origin
      write_urls(site, COUNT)
      assert_equal 137, go(prelude: SUICIDE, env: { "SUICIDE" => moment }).code
      go_on_to_the_end(site, kills: 1)
    end
  end

  ["before 1 body", "in 9 body", "after 9 body", "before 9 rename", "after 9 rename", "before 9 record", "in 9 record"]
    .each do |moment|
    define_method(:"test_a_folder_killed_#{moment.tr(" ", "_")}") do
      site = origin { |path, _| [200, { "Content-Type" => "text/plain" }, "it is #{path}"] }
      write_urls(site, 30)
      assert_equal 137, go(out: "pages", prelude: SUICIDE, env: { "SUICIDE" => moment }).code
      assert_equal 0, go(out: "pages").code
      index = saved("pages/index.jsonl")
      assert_equal((1..30).to_a, index.map { |record| record["line"] })
      index.each { |record| assert_equal "it is /#{record["line"]}", File.read(path("pages/#{record["file"]}")) }
      assert_equal index.map { |record| path("pages/#{record["file"]}") }.sort, Dir[path("pages/127*/*")]
      assert_equal 3, Dir.children(path("pages")).size
    end
  end

  %w[fibers threads processes].each do |on|
    define_method(:"test_killed_again_and_again_on_#{on}") do
      site = origin { sleep(0.01) && [200, {}, "x"] }
      write_urls(site, COUNT)
      targets = [1, 40, 41, 80, 115]
      targets.each { |count| killed(on) { site.requests.size >= count } }
      go_on_to_the_end(site, kills: targets.size, on: on)
    end
  end

  def test_standard_input_goes_on_too
    site = origin { |path, _| path == "/60" ? sleep(300) : [200, {}, "x"] }
    text = (1..100).map { |n| "#{site.url("/#{n}")}\n" }.join
    write("urls", text)
    err = path("err")
    pid = Process.spawn(ENVIRONMENT, *command(%w[fetch --out out.jsonl], nil), chdir: folder, in: path("urls"), err: err)
    wait_until(what: "all but one") { File.exist?(path("out.jsonl")) && File.foreach(path("out.jsonl")).count == 99 }
    end_process(pid)
    Support::Origin.stop_all
    other = fetch_fed(text.sub("/1\n", "/one\n"), "--out", "out.jsonl")
    assert_equal 2, other.code
    assert_match(/out\.jsonl can't be continued: the input begins differently/, other.err)
    result = fetch_fed(text, "--out", "out.jsonl", "--retries", "0")
    assert_equal 1, result.code # nobody is there any more
    assert_equal((1..100).to_a, saved.map { |record| record["line"] })
    assert_equal([60], saved.reject { |record| record["ok"] }.map { |record| record["line"] })
    assert_match(/^99 were finished before this run, 0 of them failed$/, result.err + result.out)
  end

  def test_more_lines_are_fetched_the_next_time
    site = origin
    write_urls(site, 5)
    assert_equal 0, go.code
    write_urls(site, 8)
    assert_equal 0, go.code
    assert_equal((1..8).to_a, saved.map { |record| record["line"] })
    assert_equal 8, site.requests.size
    assert_match(/^0 fetched, 0 failed/, go.out)
  end

  def test_failures_of_an_earlier_run_count
    site = origin { |path, _| [path == "/2" ? 404 : 200, {}, ""] }
    write_urls(site, 3)
    assert_equal [1, 1], [go.code, go.code]
    assert_equal 3, site.requests.size
  end

  def test_ctrl_c_waits_for_what_is_under_way
    %w[fibers threads processes sequence].each do |on|
      site = origin { |path, _| sleep(path == "/1" ? 1 : 0.03) && [200, {}, "x"] }
      write_urls(site, COUNT)
      out = "#{on}.jsonl"
      result = interrupted(site, "--on", on, "--out", out)
      assert_equal 130, result.code, result.err
      assert_match(/^plait: interrupted; the same command goes on where this one has ended$/, result.err)
      assert_match(/^plait: waiting for \d answers?; Ctrl-C again ends at once$/, result.err) unless on == "sequence"
      found = saved(out)
      assert_equal site.requests.size, found.size, "all that was asked for was waited for"
      assert_includes found.map { |record| record["line"] }, 1
      assert_operator found.size, :<, COUNT
      assert_equal 0, go("--on", on, out: out).code
      assert_equal [(1..COUNT).to_a, COUNT], [saved(out).map { |record| record["line"] }, site.requests.size]
    end
  end

  def test_the_second_ctrl_c_does_not_wait
    %w[fibers processes].each do |on|
      site = origin { |path, _| sleep(path == "/9" ? 300 : 0.01) && [200, {}, "x"] }
      write_urls(site, 9)
      began = nil
      result = plait_running(*arguments("--on", on, "--timeout", "300", out: "#{on}.jsonl")) do |pid, _, err|
        wait_until(what: "the last request") { site.paths.include?("/9") }
        Process.kill(:INT, pid)
        wait_until(what: "the notice") { File.read(err).include?("waiting for") }
        began = Plait::Deadline.now
        Process.kill(:INT, pid)
      end
      assert_equal 130, result.code
      assert_operator Plait::Deadline.now - began, :<, 60
      assert_operator saved("#{on}.jsonl").size, :>=, 1
    end
  end

  def test_ctrl_c_on_a_terminal
    site = origin { sleep(0.05) && [200, {}, "x"] }
    write_urls(site, COUNT)
    result = plait_on_terminal(*arguments("--on", "processes")) do |keyboard, _|
      wait_until(what: "requests") { site.requests.size > 10 }
      keyboard.write("\u0003")
    end
    assert_equal 130, result.code, result.out
    assert_match(/interrupted; the same command/, result.out)
    refute_match(/\.rb:\d+/, result.out)
    assert_equal site.requests.size, saved.size
  end

  private

  def arguments(*more, out: "out.jsonl") = ["fetch", "--from", "urls", "--out", out, "--limit", LIMIT.to_s, *more]

  def go(*more, out: "out.jsonl", **options) = plait(*arguments(*more, out: out), **options)

  def interrupted(site, *more)
    plait_running("fetch", "--from", "urls", "--limit", LIMIT.to_s, *more) do |pid, _, _|
      wait_until(what: "requests") { site.requests.size > (more.include?("sequence") ? 0 : 10) }
      Process.kill(:INT, pid)
    end
  end

  def killed(on, &moment)
    plait_running(*arguments("--on", on)) do |pid, _, _|
      wait_until(&moment)
      Process.kill(:KILL, pid)
    end
  end

  # Each line is there once. A kill costs the requests under way and the answers that wait for the output, two for each
  # request.
  def go_on_to_the_end(site, kills:, on: "fibers")
    result = go("--on", on)
    assert_equal 0, result.code, result.err
    assert_equal((1..COUNT).to_a, saved.map { |record| record["line"] })
    assert_equal((1..COUNT).map { |n| site.url("/#{n}") }, saved.map { |record| record["url"] })
    assert_operator site.requests.size, :<=, COUNT + (kills * LIMIT * 3)
  end
end
