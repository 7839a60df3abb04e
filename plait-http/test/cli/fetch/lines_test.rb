# frozen_string_literal: true

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/lines"
require "tempfile"

class FetchLinesTest < Minitest::Test
  Lines = Plait::CLI::Fetch::Lines
  Words = Plait::CLI::Fetch::Words

  def test_numbers_are_those_of_an_editor
    assert_equal [[1, "a"], [2, ""], [3, "# b"], [4, "c"]], pairs("a\n\n# b\r\n  c \n")
    assert_equal [[1, "a"], [2, "b"]], pairs("a\nb")
    assert_equal [[1, "a"]], pairs("\xEF\xBB\xBFa\n")
    assert_empty pairs("")
    assert_equal [false, true, true, false], all("a\n\n# b\nc").map(&:blank?)
  end

  def test_bytes_that_are_no_text
    line = all("a\n\xFFb\nc\n")[1]
    assert_equal [2, "?b", "not UTF-8", false], [line.number, line.text, line.problem, line.blank?]
  end

  def test_an_endless_line_is_not_kept
    long = "x" * (Lines::LONGEST + 1)
    endless = "y" * 3_000_000
    lines = all("a\n#{long}\n#{endless}\nb\n#{endless}")
    assert_equal [1, 2, 3, 4, 5], lines.map(&:number)
    assert_equal ["a", "x" * 60, "y" * 60, "b", "y" * 60], lines.map(&:text)
    assert_equal [nil, *["longer than 16384 bytes"] * 2, nil, "longer than 16384 bytes"], lines.map(&:problem)
    assert_nil all("#{"z" * Lines::LONGEST}\n").first.problem
    with_file("a\n#{endless}\nb") do |source|
      2.times { source.take }
      assert_operator source.instance_variable_get(:@buffer).bytesize, :<=, Lines::PIECE + Lines::LONGEST
    end
  end

  def test_a_pipe_is_never_waited_for
    reader, writer = IO.pipe
    lines = Lines.new(reader)
    assert_equal :wait, lines.take
    writer.write("a\nb")
    assert_equal ["a", :wait], [come(lines).text, lines.take]
    assert_nil lines.total
    writer.write("c\n")
    writer.close
    assert_equal [2, "bc"], come(lines).to_a.first(2)
    assert_equal [nil, nil], [come(lines), come(lines)]
  ensure
    [reader, writer].each(&:close)
  end

  # A signal, as of Ruby's timer, can end the look at a pipe before it has seen what is there.
  def come(lines)
    line = lines.take
    line == :wait ? lines.await && lines.take : line
  end

  def test_a_piece_of_a_large_input_at_a_time
    text = Array.new(200_000) { |n| "http://example.org/#{n}" }.join("\n")
    with_file(text) do |lines|
      assert_equal 200_000, lines.total
      before = GC.stat(:total_allocated_objects)
      assert_equal "http://example.org/0", lines.take.text
      assert_operator GC.stat(:total_allocated_objects) - before, :<, 100
      assert_operator lines.instance_variable_get(:@buffer).bytesize, :<=, Lines::PIECE
      assert_equal 199_999, count(lines)
      assert_equal 200_000, lines.taken
    end
  end

  def test_how_many
    { "" => 0, "a" => 1, "a\n" => 1, "a\n\nb" => 3 }.each do |text, count|
      with_file(text) { |lines| assert_equal count, lines.total }
    end
    with_file("a\nb\nc\n") do |lines|
      lines.take
      assert_equal 3, lines.total
    end
  end

  def test_an_input_is_known_again
    text = Array.new(1500) { |n| "u#{n}\n" }.join
    marks = with_file(text) { |lines| [3, 1500].map { |count| taken(lines, count) } }
    assert_equal [3, 1000], marks.map(&:first)
    marks.each do |mark|
      with_file("#{text}more\n") do |lines|
        assert lines.same?(mark)
        assert_equal [0, 1501], [lines.taken, count(lines)]
      end
      with_file(text.sub("u1\n", "v1\n")) { |lines| refute lines.same?(mark) }
      with_file("u0\n") { |lines| refute lines.same?(mark) }
    end
  end

  def test_words
    words = Words.new(%w[a b])
    mark = words.mark
    assert_equal [1, "a", 2, 1], [*words.take.to_a.first(2), words.total, words.taken]
    assert_equal ["b", nil], [words.take.text, words.take]
    assert Words.new(%w[a b]).same?(mark)
    refute Words.new(%w[a c]).same?(mark)
  end

  private

  def pairs(text) = all(text).map { |line| [line.number, line.text] }

  def all(text)
    with_file(text) do |lines|
      found = []
      while (line = lines.take)
        found << line
      end
      found
    end
  end

  def taken(lines, count)
    lines.take while lines.taken < count
    lines.mark
  end

  def count(lines)
    found = 0
    found += 1 while lines.take
    found
  end

  def with_file(text)
    Tempfile.create("lines") do |file|
      File.binwrite(file.path, text)
      File.open(file.path, "rb") { |io| yield Lines.new(io) }
    end
  end
end
