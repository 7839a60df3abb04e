# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "json"

# What becomes of results when their destination fails.
class LostOutputTest < Minitest::Test
  include Support::CommandLine

  QUICK = %w[lab waiting --scale 0.002 --rounds 1 --on sequence,threads].freeze

  def test_a_full_disk_loses_neither_tables_nor_json
    needs_full_device
    result = plait(*QUICK, "--html", "/dev/full", "--json")
    assert_equal 73, result.code, result.err
    assert_equal 2, JSON.parse(result.out).dig("reports", 0, "rows").size
    assert_match(/waits: 3 sleeps/, result.err)
    assert_match(%r{^plait: can't write to /dev/full: the disk is full; [^\n]+\n\z}, result.err)
  end

  def test_a_folder_that_is_not_there_is_told_before_anything_is_measured
    result = plait(*QUICK, "--html", "no/where.html", "--csv", "a.csv")
    assert_equal [73, ""], [result.code, result.out], result.err
    assert_match(%r{\Aplait: can't write to no/where\.html: the folder does not exist[^\n]+\n\z}, result.err)
  end

  def test_a_folder_that_goes_away_meanwhile
    write("work.rb", "items { [1] }\nbody { |x| Dir.exist?(\"here\") && Dir.rmdir(\"here\"); x }\n")
    Dir.mkdir(path("here"))
    result = plait("compare", "work.rb", "--on", "sequence", "--rounds", "1", "--html", "here/r.html", "--csv", "a.csv")
    assert_equal 73, result.code, result.err
    assert_match(%r{^plait: can't write to here/r\.html: the folder does not exist}, result.err)
    assert_equal 2, File.readlines(path("a.csv")).size
  end

  def test_what_was_there_stays_when_the_report_can_not_be_written
    write("plait-report.html", "old")
    result = plait(*QUICK, prelude: <<~RUBY)
      class File
        def fsync = raise(Errno::ENOSPC)
      end
    RUBY
    assert_equal 73, result.code, result.err
    assert_equal "old", File.read(path("plait-report.html"))
  end

  def test_a_full_disk_behind_standard_output
    needs_full_device
    result = to_full("doctor")
    assert_equal [73, "plait: can't write the output: No space left on device\n"], [result.code, result.err]
    result = to_full(*QUICK, "--quiet")
    assert_equal [73, "plait: can't write the output: No space left on device\n"], [result.code, result.err]
    assert_path_exists path("plait-report.html")
  end

  def test_a_file_that_closes_standard_output
    write("work.rb", "$stdout.close\nitems { [1] }\nbody { |x| x }\n")
    result = plait("compare", "work.rb", "--on", "sequence", "--rounds", "1")
    assert_equal [2, "plait: work.rb closes standard output or standard error; point them elsewhere with `reopen`\n"],
                 [result.code, result.err]
  end

  def test_a_standard_output_that_was_closed_from_the_start
    lost = [73, "plait: can't write the output: standard output is closed, or no program reads it\n"]
    [%w[version], %w[doctor], [*QUICK, "--quiet"]].each { |arguments| assert_equal lost, to_nowhere(*arguments) }
    assert_path_exists path("plait-report.html")
  end

  def test_a_closed_pipe_is_a_quiet_end
    [%w[help lab], %w[doctor], [*QUICK, "--quiet"]].each do |arguments|
      result = first_line_of(*arguments)
      assert_equal [0, ""], [result.code, result.err]
      refute_empty result.out
    end
    assert_match(%r{</html>\s*\z}, File.read(path("plait-report.html")))
  end

  private

  def needs_full_device = File.exist?("/dev/full") || skip("there is no /dev/full here")

  def to_full(*arguments)
    err = path(".err")
    pid = Process.spawn(ENVIRONMENT, *command(arguments, nil), chdir: folder, out: "/dev/full", err: err)
    _, status = Process.wait2(pid)
    Result.new(out: "", err: File.read(err), status: status)
  end

  # What `>&-` does.
  def to_nowhere(*arguments)
    err = path(".err")
    Process.wait(Process.spawn(ENVIRONMENT, *command(arguments, nil), chdir: folder, out: :close, err: err))
    [Process.last_status.exitstatus, File.read(err)]
  end

  # What `| head -1` does.
  def first_line_of(*arguments)
    reader, writer = IO.pipe
    err = path(".err")
    pid = Process.spawn(ENVIRONMENT, *command(arguments, nil), chdir: folder, out: writer, err: err)
    writer.close
    line = reader.gets
    reader.close
    _, status = Process.wait2(pid)
    Result.new(out: line, err: File.read(err), status: status)
  end
end
