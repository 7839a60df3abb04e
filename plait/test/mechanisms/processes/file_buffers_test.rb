# frozen_string_literal: true

require "pty"
require "test_helper"
require "plait"
require "support/fresh_ruby"
require "support/patience"
require "tmpdir"

# What a block writes to a File that its parent has opened, and that Ruby holds back for a while.
class ProcessesFileBuffersTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "log")
  end

  def teardown = FileUtils.remove_entry(@folder)

  def lines = File.readlines(@path, chomp: true)

  # On a busy machine threads of earlier tests may still be about to rest.
  def at_rest = wait_until { (Thread.list - [Thread.current]).all?(&:stop?) }

  # @return [Array<String>] what is in the file after the block, with a line of the parent's before and after it
  def written(mode = "a")
    at_rest
    File.open(@path, mode) do |file|
      file.puts("head")
      yield file
      file.puts("tail")
    end
    lines
  end

  def assert_all_once(numbers, lines)
    assert_equal("head", lines.first)
    assert_equal("tail", lines.last)
    assert_equal(numbers.map(&:to_s), lines[1...-1].sort_by(&:to_i))
  end

  %w[w a w+ a+].each do |mode|
    define_method("test_nothing_is_lost_and_nothing_doubled_in_mode_#{mode}") do
      assert_all_once(1..20, written(mode) { |file| Plait.map(1..20, on: :processes, limit: 3) { |i| file.puts i } })
    end
  end

  %i[threads fibers hybrid].each do |inner|
    define_method("test_in_pairs_with_#{inner}") do
      assert_all_once(1..20, written { |file| Plait.map(1..20, on: [:processes, inner], limit: [2, 4]) { |i| file.puts i } })
    end
  end

  def test_a_body_that_raises
    lines = written do |file|
      assert_raises(KeyError) do
        Plait.map(1..1, on: :processes) do |i|
          file.puts i
          raise KeyError
        end
      end
    end

    assert_all_once(1..1, lines)
  end

  def test_bodies_that_are_cancelled
    begun, note = IO.pipe
    lines = written do |file|
      Support::Patience.patiently do
        assert_raises(KeyError) do
          Plait.map(1..2, on: :processes, limit: 2) do |i|
            file.puts i
            note.syswrite("!")
            i == 1 ? sleep : begun.readpartial(1)
            begun.readpartial(1)
            raise KeyError
          end
        end
      end
    end

    assert_all_once(1..2, lines)
  ensure
    [begun, note].each(&:close)
  end

  # In any order: the block goes on while a task is forked, and may write.
  def test_tasks_of_a_scope
    lines = written do |file|
      Plait.run(on: :processes) do |scope|
        (1..3).each { |i| scope.async { file.puts i } }
      end
    end

    assert_equal(%w[1 2 3 head tail], lines.sort)
  end

  def test_workers_of_workers
    lines = written do |file|
      Plait.map([1, 4], on: :processes) do |first|
        file.puts first
        Plait.map([first + 1, first + 2], on: :processes) { |i| file.puts i }
      end
    end

    assert_all_once(1..6, lines)
  end

  def test_what_a_block_has_opened_and_not_closed
    kept = []
    Plait.map(1..3, on: :processes, limit: 1) { |i| (kept << File.open(@path, "a")).last.puts(i) && nil }

    assert_equal(%w[1 2 3], lines.sort)
  end

  def test_standard_output_that_is_a_file
    written do |file|
      before = $stdout
      $stdout = file
      Plait.map(1..3, on: :processes) { |i| puts i }
    ensure
      $stdout = before
    end

    assert_all_once(1..3, lines)
  end

  # Standard input is open for writing there, too.
  def test_a_program_on_a_terminal
    command = [RbConfig.ruby, *Support::FLAGS, "-rplait", "-e", "p Plait.map(1..2, on: :processes) { |i| i * 2 }"]
    said = +""
    PTY.spawn(*command) do |output, _input, pid|
      loop { said << output.readpartial(1000) }
    rescue Errno::EIO, EOFError
      Process.wait(pid)
    end

    assert_equal("[2, 4]", said.strip)
  end

  # It takes no bytes before the fork, as a flush might wait for its reader.
  def test_what_the_parent_holds_back_for_a_fifo
    File.mkfifo(@path)
    reader = File.open(@path, File::RDONLY | File::NONBLOCK)
    writer = File.open(@path, "w")
    writer.puts("head")
    Plait.map(1..3, on: :processes) { |i| writer.puts i }
    writer.close

    assert_equal(%w[1 2 3 head], reader.read.split.sort)
  ensure
    [reader, writer].compact.each(&:close)
  end

  %w[r r+].each do |mode|
    define_method("test_what_was_read_ahead_in_mode_#{mode}") do
      File.write(@path, (1..9_000).map { |i| "#{i}\n" }.join)
      File.open(@path, mode) do |file|
        first = file.gets
        Plait.map(1..3, on: :processes) { |i| i }

        assert_equal((2..9_000).to_a, file.readlines.map(&:to_i))
        assert_equal("1\n", first)
      end
    end
  end

  def test_what_another_thread_writes_meanwhile
    file = File.open(@path, "a")
    count = 0
    writer = Thread.new { file.puts(count += 1) until @over }
    Plait.run(on: :processes, limit: 4) { |scope| 40.times { scope.async { file.write("") } } }
    @over = true
    writer.join
    file.close

    assert_equal((1..count).to_a, lines.map(&:to_i))
  ensure
    @over = true
    writer&.join
  end

  def test_a_class_with_a_flush_and_a_close_of_its_own
    calls = []
    strange = Class.new(File) do
      define_method(:flush) { calls << :flush }
      define_method(:close) { File.write("#{path}.closed", "") && super() }
    end
    file = strange.open(@path, "a")
    Plait.map(1..3, on: :processes) { |i| file.puts i }

    assert_equal(%w[1 2 3], lines.sort)
    assert_empty(calls)
    refute_path_exists("#{@path}.closed")
  ensure
    file&.close
  end

  # Beside ractors Ruby shows a program no objects but the shareable ones; the extension asks otherwise.
  BESIDE_RACTORS = <<~RUBY
    require "plait"
    require "support/ractors"
    own = Ractor.new { 1 }
    Support::Ractors.value(own)
    File.open(ARGV.first, "w") do |file|
      file.puts("head")
      Plait.map([1, 2, 3, 4], on: :processes, limit: 2) { |n| n }
    end
    print(File.read(ARGV.first))
  RUBY

  def test_nothing_is_doubled_beside_ractors_with_and_without_the_extension
    [{}, { "PLAIT_PURE" => "1" }].each do |env|
      result = Support::FreshRuby.run(BESIDE_RACTORS, @path, flags: ["-W0"], env: env)
      assert_equal(["head\n", ""], [result.out, result.err])
    end
  end

  def test_descriptors_keep_their_flags
    File.open(@path, "a") do |file|
      file.close_on_exec = false
      file.puts("head")

      assert_equal([false], Plait.map([1], on: :processes) { file.close_on_exec? })
    end
  end

  def test_a_full_disk_is_told
    skip "there is no /dev/full" unless File.exist?("/dev/full")
    File.open("/dev/full", "w") do |full|
      _, told = capture_subprocess_io { Plait.map([1], on: :processes) { |i| full.write(i) } }

      assert_match(%r{a worker process lost the end of what it wrote to .*/dev/full.*No space left}, told)
    end
  end
end
