# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/book"
require "plait/cli/fetch/lines"
require "plait/cli/fetch/output"
require "plait/cli/fetch/record"
require "fileutils"
require "json"
require "tmpdir"

# What is finished, before and after a run was cut off anywhere.
class FetchBookTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  Unwritable = Plait::CLI::Terminal::Unwritable

  def setup
    super
    @folder = Dir.mktmpdir("plait-fetch")
    @path = File.join(@folder, "out.jsonl")
  end

  def teardown
    FileUtils.rm_rf(@folder)
    super
  end

  def test_a_run_goes_on
    open_book { |book| [1, 3].each { |line| finish(book, line) } && book.skip(2) && book.save }
    open_book do |book|
      assert_equal([true, true, true, false], (1..4).map { |line| book.done?(line) })
      assert_equal [2, 1, 1, 3], [book.before, book.before_failed, book.ok, book.size]
      finish(book, 4)
      book.save
    end
    assert_equal [1, 3, 4], lines
  end

  def test_what_was_written_after_the_journal_counts
    open_book { |book| [1, 2, 5].each { |line| finish(book, line) } }
    open_book { |book| assert_equal [[true, true, false, false, true], 3], [(1..5).map { |line| book.done?(line) }, book.before] }
  end

  # Whatever part of what was to be written reached the disk.
  def test_cut_off_at_every_byte
    open_book { |book| finish(book, 1) && book.save && [2, 3].each { |line| finish(book, line) } }
    whole = File.binread(@path)
    saved = JSON.parse(File.read("#{@path}.journal"))["offset"]
    (saved..whole.size).each do |size|
      File.binwrite(@path, whole[0, size])
      open_book { |book| (1..3).each { |line| finish(book, line) unless book.done?(line) } }
      assert_equal [1, 2, 3], lines.sort, "cut off at #{size}"
    end
  end

  def test_a_torn_line_that_is_longer_than_what_follows
    open_book { |book| finish(book, 1) }
    File.write(@path, "{\"line\":3,\"ok\":true,\"body\":\"#{"x" * 9000}", mode: "a")
    open_book { |book| finish(book, 3) }
    assert_equal [1, 3], lines
  end

  def test_cut_off_before_the_first_line_was_whole
    open_book { nil }
    File.binwrite(@path, "{\"line\":1,\"o")
    open_book { |book| finish(book, 1) unless book.done?(1) }
    assert_equal [1], lines
  end

  def test_an_output_that_was_removed_is_begun_anew
    open_book { |book| finish(book, 1) && book.save }
    File.unlink(@path)
    open_book { |book| refute book.done?(1) }
    assert_equal 0, JSON.parse(File.read("#{@path}.journal"))["offset"]
  end

  def test_what_is_not_ours_stays_as_it_is
    File.write(@path, "precious\n")
    assert_refused(/out\.jsonl exists, and no .*out\.jsonl\.journal tells how to go on/)
    assert_equal "precious\n", File.read(@path)
    File.write("#{@path}.journal", "{\"version\":99}")
    assert_refused(/is no journal of this version/)
    File.write("#{@path}.journal", "{")
    assert_refused(/is no journal of this version/)
    assert_equal "precious\n", File.read(@path)
  end

  def test_another_input
    open_book { |book| finish(book, 1) && book.save }
    assert_refused(/the input begins differently/, words: %w[other])
  end

  # Journals of the versions that could crawl.
  def test_a_journal_of_an_earlier_version
    open_book { |book| finish(book, 1) && book.save }
    rewrite(crawl: false)
    open_book { |book| assert book.done?(1) }
    rewrite(crawl: true)
    assert_refused(/is of a crawl, which plait fetch no longer does/)
  end

  def test_an_output_that_was_changed
    open_book { |book| finish(book, 1) && book.save && finish(book, 2) }
    whole = File.read(@path)
    File.write(@path, whole[0, 10])
    assert_refused(/it is shorter than it was/)
    File.write(@path, "#{whole}hello\n")
    assert_refused(/there is something else in it/)
    assert_equal "#{whole}hello\n", File.read(@path)
  end

  def test_one_writer_at_a_time
    with(Fetch::JsonLines, :PATIENCE, 0.1) do
      open_book { assert_refused(/another plait fetch is writing to/) }
    end
  end

  def test_a_folder
    root = File.join(@folder, "deep", "pages")
    folder(root) { |book| finish(book, 1, body: "\xFF\n".b) && finish(book, 2) && book.save }
    index = File.readlines(File.join(root, "index.jsonl")).map { |line| JSON.parse(line) }
    assert_equal([1, 2], index.map { |record| record["line"] })
    assert_equal "\xFF\n".b, File.binread(File.join(root, index[0]["file"]))
    refute index[1].key?("file")
    refute index[0].key?("body_base64")
    assert_equal %w[h index.jsonl index.jsonl.journal], Dir.children(root).sort
    folder(root) { |book| assert book.done?(1) }
  end

  # Killed between the two: the file is there, its record is not.
  def test_a_file_without_a_record_is_fetched_again_into_the_same_file
    root = File.join(@folder, "pages")
    folder(root) { |book| finish(book, 1, body: "new") }
    File.truncate(File.join(root, "index.jsonl"), 5)
    folder(root) do |book|
      refute book.done?(1)
      finish(book, 1, body: "newer")
    end
    assert_equal(["newer"], Dir[File.join(root, "h/*")].map { |path| File.read(path) })
    assert_equal 1, File.readlines(File.join(root, "index.jsonl")).size
  end

  def test_what_can_not_be_written
    error = assert_raises(Unwritable) { Fetch::JsonLines.new("/no/where.jsonl") }
    assert_match(/can't write to .*: the folder does not exist/, error.message)
    File.write(@path, "")
    error = assert_raises(Unwritable) { Fetch::Folder.new("#{@path}/x") }
    assert_match(/a file is in its way/, error.message)
  end

  private

  def open_book(words: %w[a b c d e])
    output = Fetch::JsonLines.new(@path)
    yield Fetch::Book.new(output, Fetch::Words.new(words))
  ensure
    output&.close
  end

  def folder(root)
    output = Fetch::Folder.new(root)
    yield Fetch::Book.new(output, Fetch::Words.new(%w[a]))
  ensure
    output&.close
  end

  # Line 3 is always a failure.
  def finish(book, line, body: nil)
    job = Fetch::Job.new(line, "http://h/#{line}")
    return book.finish(job, Fetch::Result.failure("connect", "no")) || true if line == 3

    book.finish(job, Fetch::Result.new(status: 200, headers: [], part: part(line, body), bytes: 0)) || true
  end

  # Where the one who fetches has put it.
  def part(line, body)
    path = Dir.glob(File.join(@folder, "**/.parts"), File::FNM_DOTMATCH).first
    body && File.join(path, line.to_s).tap { |part| File.binwrite(part, body) }
  end

  def rewrite(**more)
    journal = "#{@path}.journal"
    File.write(journal, JSON.generate({ **JSON.parse(File.read(journal), symbolize_names: true), **more }))
  end

  def lines = File.readlines(@path).map { |line| JSON.parse(line)["line"] }

  def assert_refused(message, **options)
    assert_match(message, assert_raises(Plait::UsageError) { open_book(**options) { nil } }.message)
  end

  def with(owner, name, value)
    old = owner.const_get(name)
    change(owner, name, value)
    yield
  ensure
    change(owner, name, old)
  end

  def change(owner, name, value)
    owner.send(:remove_const, name)
    owner.const_set(name, value)
  end
end
