# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require "support/command_rows"
require_relative "../fuzz/shard_plane"
require_relative "proxy/fake_nodes"

# The table of commands in C: one row a command is all that the data plane knows of it.
class ShardCommandRowsTest < Minitest::Test
  include ShardPlane
  include FakeNodes

  SECONDS = 0
  ENGINE = File.expand_path("..", Support::CommandRows::FOLDER)
  # The row that guides/internals.md shows to newcomers.
  ROW = File.read(File.join(Support::ROOT, "guides/internals.md"))[/^```c\n(\{"example\.drop".*\n)```$/, 1]

  def test_a_row_is_all_that_a_command_needs_to_be_split_and_merged
    nodes = Array.new(2) { Node.new }
    with_table(ROW) do |table|
      with_plane(ASAN, nodes, threads: 1, instead: [table]) do |port|
        assert_equal([":9\r\n", "-ERR unknown command 'example.keep', with args beginning with: 'a' \r\n"],
                     converse(port) { |redis| redis.pipeline([["EXAMPLE.DROP", *"a".."i"], %w[example.keep a]]) })
      end
    end
    assert_equal([*"a".."i"], nodes.flat_map(&:dropped).sort)
    assert(nodes.all? { |node| node.dropped.any? })
  ensure
    nodes&.each(&:close)
  end

  def test_a_command_has_one_row
    names = rows.map(&:first)
    assert_equal(names.uniq, names)
    assert_operator(names.size, :>, 450)
  end

  def test_a_command_that_is_split_has_keys_that_can_be_split
    split = rows.select { |_, row| row.include?("SHARD_SPLIT") }
    assert_operator(split.size, :>=, 6)
    split.each { |name, row| assert_match(/, 1, \{\{NULL, 1, SHARD_RANGE, -1, [1-9], 0\}\}, .*\.merge = /, row, name) }
  end

  def test_a_command_for_several_nodes_says_how_their_replies_are_merged
    rows.each do |name, row|
      assert_equal(row.match?(/SHARD_(SPLIT|ALL_NODES|CONFIG|FLUSHALL|ACKNOWLEDGE|SCAN)\b/), row.include?(".merge = "), name)
    end
  end

  # As the text "mget": what a command is must not be asked by its name.
  def test_no_other_code_names_a_command_that_is_split_and_merged
    names = rows.filter_map { |name, row| name if row.match?(/\.way = SHARD_(SPLIT|ALL_NODES)/) }
    words = Dir[File.join(ENGINE, "**/*.{c,h}")].flat_map { |path| File.read(path).scan(/"([\w|-]+)"/).flatten.map(&:downcase) }
    assert_empty(names & words)
  end

  private

  def rows
    [Support::CommandRows::MADE, Support::CommandRows::ADDED].flat_map { |path| File.read(path).scan(/^({"([^"]+)".*)$/).map(&:reverse) }
  end

  # @yieldparam path [String] a copy of the table, to which this row was added
  def with_table(row)
    Dir.mktmpdir("plait-test-") do |folder|
      FileUtils.cp(Dir[File.join(Support::CommandRows::FOLDER, "shard_{table.c,commands*.inc}")], folder)
      File.write(File.join(folder, File.basename(Support::CommandRows::ADDED)), row, mode: "a")
      yield(File.join(folder, "shard_table.c"))
    end
  end

  # It drops whatever it is asked to drop, and says how many.
  class Node < FakeNodes::Node
    attr_reader :dropped

    def initialize
      @dropped = []
      super { |socket| loop { answer(socket) } }
    end

    private

    def answer(socket)
      words = Array.new(Integer(socket.readline[1..])) { socket.read(Integer(socket.readline[1..]) + 2).chomp }
      @dropped.concat(words.drop(1)) if words[0] == "EXAMPLE.DROP"
      socket.write(":#{words.size - 1}\r\n")
    end
  end
end
