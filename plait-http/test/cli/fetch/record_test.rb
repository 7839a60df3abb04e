# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/output"
require "plait/cli/fetch/record"
require "json"

class FetchRecordTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  HEADERS = [%w[A 1], ["Set-Cookie", "x"], ["set-cookie", "y"], ["Name", "\xE9".b]].freeze

  def test_an_answer
    text = Fetch::Record.build(job("http://me:secret@h/a"), result(body: "h\u00e9\n\u2028".b))
    assert_equal 1, text.count("\n")
    record = JSON.parse(text)
    assert_equal({ "line" => 7, "ok" => true, "url" => "http://h/a", "final_url" => "http://h/b", "status" => 200,
                   "http_version" => "1.1", "headers" => { "a" => "1", "set-cookie" => %w[x y], "name" => "\u00e9" },
                   "timings" => { "read" => 0.123457 },
                   "attempts" => 1, "bytes" => 7, "body" => "h\u00e9\n\u2028" }, record)
    assert_equal [7, true], Fetch::Record.read(text)
  end

  def test_a_body_that_is_no_text_is_base64
    record = JSON.parse(Fetch::Record.build(job, result(body: "\xFF\x00a".b)))
    assert_equal ["/wBh", false], [record["body_base64"], record.key?("body")]
    assert_equal "", JSON.parse(Fetch::Record.build(job, result(body: "")))["body"]
  end

  def test_failures
    record = JSON.parse(Fetch::Record.build(job, Fetch::Result.of(Plait::ConnectTimeout.new("too slow: \xFF".b))))
    assert_equal [false, { "kind" => "connect_timeout", "message" => "too slow: \u00ff" }], record.values_at("ok", "error")
    refute record.key?("status")
    text = Fetch::Record.build(job, result(status: 404, body: "no"))
    assert_equal [{ "kind" => "status_404", "message" => "status 404" }, "no"], JSON.parse(text).values_at("error", "body")
    assert_equal [7, false], Fetch::Record.read(text)
    kinds = [Plait::TLSError, Plait::TruncatedError, Plait::ConnectError, Errno::EPIPE].map { |error| Fetch::Result.of(error.new).kind }
    assert_equal %w[tls truncated connect epipe], kinds
  end

  def test_what_is_no_record
    ["", "x", "{}", "{\"line\":7}", " {\"line\":1,\"ok\":true,"].each { |text| assert_nil Fetch::Record.read(text) }
  end

  def test_names_of_files
    { "http://Ex.org/docs/start" => %r{\Aex\.org/docs_start-\h{16}\.html\z}, "http://h/" => %r{\Ah/index-\h{16}\.html\z},
      "http://h:81/a.PDF?x" => %r{\Ah_81/a-\h{16}\.pdf\z}, "http://u:p@h/a" => %r{\Ah/a-\h{16}\.html\z},
      "http://[::1]:8/" => %r{\A1_8/index-\h{16}\.html\z}, "http://index.jsonl/x" => %r{\Aindex\.jsonl_/x-\h{16}\.html\z},
      "http://index.jsonl.journal./" => %r{\Aindex\.jsonl\.journal_/}, "http://../" => %r{\Ahost/},
      "http://h/../../etc/passwd" => %r{\Ah/etc_passwd-}, "http://h/%2e%2e%2f%00x" => %r{\Ah/2e_2e_2f_00x-},
      "http://h/-rf" => %r{\Ah/rf-}, "http://h/#{"a/" * 900}" => %r{\Ah/[a_]{1,100}-\h{16}\.html\z},
      "http://#{"a." * 120}org/" => %r{\A[a.]{1,100}/} }.each do |url, pattern|
      assert_match pattern, Fetch::FileName.of(job(url), result)
    end
  end

  def test_no_two_lines_share_a_file
    names = [1, 2].flat_map { |line| %w[http://h/a http://h/A http://h/a? http://h:80/a].map { |url| Fetch::FileName.of(job(url, line: line), result) } }
    assert_equal names.size, names.map(&:downcase).uniq.size
    assert_equal Fetch::FileName.of(job("http://h/a"), result), Fetch::FileName.of(job("http://h/a"), result)
    assert_equal ".json", File.extname(Fetch::FileName.of(job, result(headers: [["Content-Type", "application/json; x"]])))
    assert_equal "", File.extname(Fetch::FileName.of(job, result(headers: [])))
  end

  private

  def job(url = "http://h/a", line: 7) = Fetch::Job.new(line, url)

  def result(status: 200, body: "", headers: nil)
    headers ||= body.empty? ? [["content-type", "text/html; charset=x"]] : HEADERS
    Fetch::Result.new(status: status, version: "1.1", headers: headers, final_url: "http://h/b", timings: { read: 0.1234567 },
                      body: body, bytes: body.bytesize, seconds: 0.2, attempts: 1)
  end
end
