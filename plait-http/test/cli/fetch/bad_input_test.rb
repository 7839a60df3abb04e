# frozen_string_literal: true

require "test_helper"
require_relative "support/fetching"

# One clear sentence, nothing sent, nothing written.
class FetchBadInputTest < Minitest::Test
  include Support::Fetching

  def test_options
    { "--limit 0" => "--limit 0: must be 1 or more", "--per-host x" => "--per-host x: not a whole number",
      "--retries -1" => "--retries -1: can't be negative", "--timeout 0" => "--timeout 0: must be more than 0",
      "--rate 5/d" => "--rate 5/d: not a rate", "--rate" => "--rate needs a value",
      "--crawl" => "--crawl: plait fetch no longer follows links", "--header nonsense" => "--header nonsense: not a header",
      "--header X:\u0001" => "X", "--method a(b" => "\"A(B\" can't be the method", "--proxy ftp://x" => "ftp",
      "--cacert missing" => "missing can't be read: No such file", "--data @missing" => "missing can't be read: No such file",
      "--on quantum" => "--on: unknown mechanism \"quantum\"",
      "--on threads,fibers" => "--on threads,fibers: takes one mechanism",
      "--on ractors" => "--on ractors: a ractor can't use a connection", "--out" => "--out needs a value",
      "--json" => "--json and --out can't both go to standard output",
      "--perhost 3" => "unknown option --perhost; did you mean \"--per-host\"?" }
      .each { |options, message| refused_here([url, *options.split], message) }
  end

  def test_sources
    refused ["--from", "missing"], "missing can't be read: No such file or directory"
    refused ["--from", "."], ". is a folder"
    refused ["--from", "x", url], "--from and URLs: give one"
    result = plait_on_terminal("fetch")
    assert_equal 2, result.code
    assert_match(/there is nothing to fetch: give URLs, --from FILE, or a list/, result.out)
  end

  def test_outputs
    refused [url, "--out", "no/where.jsonl"], "can't write to no/where.jsonl: the folder does not exist", 73
    refused [url, "--json", "no/where.json"], "can't write to no/where.json: the folder does not exist", 73
    write("file", "")
    refused [url, "--out", "file"], "can't write to file: a file is in its way", 73
    write("mine.jsonl", "precious")
    refused [url, "--out", "mine.jsonl"], "mine.jsonl exists, and no mine.jsonl.journal tells how to go on"
    assert_equal "precious", File.read(path("mine.jsonl"))
  end

  def test_a_summary_that_would_replace_something
    refused [url, "--out", "o.jsonl", "--json", "./o.jsonl"], "--json ./o.jsonl would replace the file of --out"
    write("urls", url)
    refused ["--from", "urls", "--json", path("urls")], "would replace the file of --from"
    assert_equal [url, false], [File.read(path("urls")), File.exist?(path("o.jsonl"))]
  end

  private

  def url = "http://127.0.0.1:1/"

  def refused(arguments, message, code = 2)
    assert_says(fetch(*arguments), message, code)
  end

  # Most of a kind, beside those that a process of its own refuses.
  def refused_here(arguments, message) = assert_says(plait_in_a_fork("fetch", *arguments), message, 2)

  def assert_says(result, message, code)
    assert_equal [code, ""], [result.code, result.out], result.err
    assert_match(/\Aplait: [^\n]+\n\z/, result.err)
    assert_includes result.err, message
  end
end
