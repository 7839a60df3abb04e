# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/access_log"
require "json"
require "tmpdir"

class ServerAccessLogTest < Minitest::Test
  ENVIRONMENT = {
    "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/a", "QUERY_STRING" => "", "SERVER_PROTOCOL" => "HTTP/1.1",
    "REMOTE_ADDR" => "10.0.0.1", "HTTP_HOST" => "example.org", "HTTP_USER_AGENT" => "curl/8", "plait.length" => 12
  }.freeze

  def test_common
    line = written(:common) { |log| log.add(ENVIRONMENT, 200, 0.1) }
    assert_match(%r{\A10\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [-+]\d{4}\] "GET /a HTTP/1\.1" 200 12\n\z}, line)
  end

  def test_combined
    line = written(:combined) do |log|
      log.add(ENVIRONMENT.merge("QUERY_STRING" => "b=1", "plait.length" => nil, "REMOTE_USER" => "me"), 304, 0.1)
    end
    assert_match(%r{ - me \[.*\] "GET /a\?b=1 HTTP/1\.1" 304 - "-" "curl/8"\n\z}, line)
  end

  def test_nobody_writes_lines_of_his_own
    line = written(:combined) do |log|
      log.add(ENVIRONMENT.merge("PATH_INFO" => "/\"\n\\", "HTTP_USER_AGENT" => "\e[2J\u00e9"), 200, 0.1)
    end
    assert_includes(line, "\"GET /\\\"\\x0a\\\\ HTTP/1.1\"")
    assert_includes(line, "\"\\x1b[2J\\xc3\\xa9\"")
    assert_equal(1, line.lines.size)
  end

  def test_json
    line = written(:json) do |log|
      log.add(ENVIRONMENT.merge("plait.queued" => 0.25, "HTTP_REFERER" => "\xff".b), 500, 0.1234567)
    end
    entry = JSON.parse(line)
    assert_equal([500, 0.123457, 0.25, 12], entry.values_at("status", "seconds", "queued", "bytes"))
    assert_equal(["GET", "/a", "curl/8", "\ufffd", Process.pid], entry.values_at("method", "path", "agent", "referer", "pid"))
    refute(entry.key?("query"))
  end

  def test_opened_anew
    Dir.mktmpdir do |folder|
      log = Plait::Server::AccessLog.new("#{folder}/log")
      log.add(ENVIRONMENT, 200, 0.1)
      wait_until { File.size?("#{folder}/log") }
      File.rename("#{folder}/log", "#{folder}/old")
      log.reopen
      log.add(ENVIRONMENT, 404, 0.1)
      log.close
      assert_match(/ 404 12\n\z/, File.read("#{folder}/log"))
      assert_equal(1, File.readlines("#{folder}/old").size)
    end
  end

  # Closed under whoever writes, a file has a part of a line, and the rest is lost.
  def test_opened_anew_while_it_is_written
    Dir.mktmpdir do |folder|
      File.mkfifo("#{folder}/log")
      reader = File.open("#{folder}/log", File::RDONLY | File::NONBLOCK)
      log = Plait::Server::AccessLog.new("#{folder}/log")
      log.add(ENVIRONMENT.merge("PATH_INFO" => "/#{"a" * 200_000}"), 200, 0.1) # more than a pipe takes
      wait_until { reader.wait_readable }
      File.rename("#{folder}/log", "#{folder}/old")
      log.reopen # does not wait for the reader
      log.add(ENVIRONMENT, 404, 0.1)
      wait_until { reader.read_nonblock(1 << 20, exception: false).to_s.end_with?("\n") }
      log.close
      assert_equal([0, nil], [log.lost, reader.read_nonblock(1, exception: false)], "its end shows that it is closed")
      assert_match(/ 404 12\n\z/, File.read("#{folder}/log"))
    ensure
      reader&.close
    end
  end

  def test_what_can_not_be_opened_anew_goes_on
    Dir.mktmpdir do |folder|
      Dir.mkdir("#{folder}/a")
      log = Plait::Server::AccessLog.new("#{folder}/a/log")
      File.rename("#{folder}/a", "#{folder}/b")
      told = []
      log.reopen { |*what| told << what }
      log.add(ENVIRONMENT, 200, 0.1)
      log.close
      assert_equal([["#{folder}/a/log", "No such file or directory"]], told)
      assert_equal(1, File.readlines("#{folder}/b/log").size)
    end
  end

  # A full disk, for as long as it is one.
  def test_what_can_not_be_written_is_told_once
    Dir.mktmpdir do |folder|
      File.symlink("/dev/full", "#{folder}/log")
      _, told = capture_io do
        log = Plait::Server::AccessLog.new("#{folder}/log")
        2.times do |count|
          log.add(ENVIRONMENT, 200, 0.1)
          wait_until { log.lost == count + 1 }
        end
        File.unlink("#{folder}/log")
        log.reopen
        log.add(ENVIRONMENT, 200, 0.1)
        log.close
      end
      assert_equal(["can't be written: No space left on device; lines are lost until it can",
                    "is written again; 2 lines were lost in all"], told.lines.map { |line| line[%r{/log (.*) \(process}, 1] })
      assert_equal(1, File.readlines("#{folder}/log").size)
    end
  end

  def test_a_fork_writes_lines_of_its_own_only
    Dir.mktmpdir do |folder|
      log = Plait::Server::AccessLog.new("#{folder}/log")
      log.add(ENVIRONMENT, 200, 0.1)
      pid = fork do
        log.add(ENVIRONMENT, 201, 0.1)
        log.close
        exit!(0)
      end
      Process.wait(pid)
      log.close
      assert_equal(%w[200 201], File.readlines("#{folder}/log").map { |line| line[/" (\d+)/, 1] }.sort)
    end
  end

  # A pipe that nobody reads is as slow as a disk can be: who waited would do so for ever.
  def test_who_adds_a_line_never_waits
    Dir.mktmpdir do |folder|
      File.mkfifo("#{folder}/log")
      reader = File.open("#{folder}/log", File::RDONLY | File::NONBLOCK)
      log = Plait::Server::AccessLog.new("#{folder}/log")
      adding = Thread.new { 3000.times { log.add(ENVIRONMENT, 200, 0.1) } }
      assert(adding.join(60), "who adds a line waits")
      ending = Thread.new { log.close }
      count = 0
      wait_until { (count += (reader.read_nonblock(1 << 20, exception: false) || "").to_s.count("\n")) == 3000 }
      ending.join
    ensure
      adding&.kill
      reader&.close
    end
  end

  def test_what_is_wrong
    assert_match(/can't be opened: No such file/, refusal("/no/such/folder/log", :common))
    assert_match(/common, combined, json, not :xml/, refusal("-", :xml))
  end

  private

  def written(format)
    Dir.mktmpdir do |folder|
      log = Plait::Server::AccessLog.new("#{folder}/log", format)
      yield log
      log.close
      File.read("#{folder}/log")
    end
  end

  def refusal(...) = assert_raises(Plait::UsageError) { Plait::Server::AccessLog.new(...) }.message
end
