# frozen_string_literal: true

require "test_helper"
require "support/command_line"
require "json"

class InterruptionTest < Minitest::Test
  include Support::CommandLine

  # The first row is measured, the second one never ends; a file tells when it has begun.
  ENDLESS = <<~RUBY
    items { [1, 2] }
    body { |number| Thread.current == Thread.main ? number : (File.write("begun", Process.pid.to_s); sleep) }
  RUBY

  ARGUMENTS = %w[compare work.rb --on sequence,threads --rounds 1].freeze

  def test_ctrl_c_prints_and_saves_what_there_is
    write("work.rb", ENDLESS)
    result = interrupted(*ARGUMENTS, "--seed", seed_with_sequence_first, "--json", "a.json")
    assert_equal 130, result.code, result.err
    assert_match(/^  work.rb +sequence .* not measured:\s+threads \(limit 2\)$/, result.out)
    assert_match(/^plait: interrupted after \d of 4 steps; above is what was measured$/, result.err)
    refute_match(/\.rb:\d+:in/, result.err)
    assert_saved
  end

  def test_ctrl_c_on_a_terminal
    write("work.rb", ENDLESS)
    result = plait_on_terminal(*ARGUMENTS, "--seed", seed_with_sequence_first, "--json", "a.json") do |keyboard, _|
      wait_until(what: "the endless row") { File.size?(path("begun")) }
      keyboard.write("\u0003")
    end
    assert_equal 130, result.code, result.out
    assert_match(/fastest/, result.out)
    refute_match(/\.rb:\d+:in|\e\[\?25l/, result.out)
    assert_saved
  end

  def test_json_on_standard_output_is_whole_after_ctrl_c
    write("work.rb", ENDLESS)
    result = interrupted(*ARGUMENTS, "--json", "--no-html")
    assert_equal 130, result.code, result.err
    assert_equal true, JSON.parse(result.out).dig("reports", 0, "interrupted")
  end

  def test_a_supervisor_and_a_closed_terminal_lose_nothing_either
    { TERM: 143, HUP: 129 }.each do |signal, status|
      write("work.rb", ENDLESS)
      result = interrupted(*ARGUMENTS, "--seed", seed_with_sequence_first, "--json", "a.json", signal: signal)
      assert_equal status, result.code, result.err
      assert_match(/^plait: interrupted after \d of 4 steps; above is what was measured$/, result.err)
      assert_saved
      %w[begun a.json].each { |name| File.unlink(path(name)) }
    end
  end

  def test_a_second_hang_up_does_not_end_the_saving
    write("work.rb", "#{ENDLESS}teardown { Process.kill(:HUP, Process.pid); sleep(0.1) }\n")
    result = interrupted(*ARGUMENTS, "--seed", seed_with_sequence_first, "--json", "a.json", signal: :HUP)
    assert_equal 129, result.code, result.err
    assert_saved
  end

  def test_nohup
    write("work.rb", "items { [1] }\nbody { |x| File.write(\"begun\", \"1\"); sleep(0.2); x }\n")
    deaf = { signal: :HUP, prelude: "trap(\"HUP\", \"IGNORE\")" }
    result = interrupted("compare", "work.rb", "--on", "sequence", "--rounds", "1", **deaf)
    assert_equal 0, result.code, result.err
  end

  def test_nothing_measured_yet
    write("work.rb", "items { [1] }\nbody { |number| File.write(\"begun\", Process.pid.to_s); sleep }\n")
    result = interrupted("compare", "work.rb", "--on", "sequence", "--rounds", "1")
    assert_equal 130, result.code, result.err
    assert_match(/^plait: interrupted after 0 of 2 steps; nothing was measured yet$/, result.err)
  end

  def test_the_second_ctrl_c_ends_at_once
    write("work.rb", "#{ENDLESS}teardown { File.write(\"ending\", \"1\"); sleep }\n")
    result = plait_running(*ARGUMENTS) do |pid, _, _|
      wait_until(what: "the endless row") { File.size?(path("begun")) }
      Process.kill(:INT, pid)
      wait_until(what: "the teardown") { File.exist?(path("ending")) }
      Process.kill(:INT, pid)
    end
    assert_equal 130, result.code, result.err
    refute_match(/\.rb:\d+:in/, result.err)
    assert_nobody_left
  end

  def test_before_anything_began
    write("work.rb", "File.write(\"begun\", \"1\")\nsleep\n")
    result = interrupted("compare", "work.rb")
    assert_equal 130, result.code, result.err
    assert_match(/\Aplait: interrupted\n\z/, result.err)
  end

  def test_while_the_libraries_are_being_loaded
    write("optparse.rb", "File.write(\"begun\", \"1\")\nsleep\n")
    result = interrupted("version", prelude: "$LOAD_PATH.unshift(__dir__)")
    assert_equal [130, "", ""], [result.code, result.out, result.err]
  end

  def test_while_the_process_ends
    result = interrupted("version", prelude: "at_exit { File.write(\"begun\", \"1\"); sleep }")
    assert_equal [130, ""], [result.code, result.err]
  end

  private

  def interrupted(*arguments, signal: :INT, **options)
    plait_running(*arguments, **options) do |pid, _, _|
      wait_until(what: "the endless row") { File.size?(path("begun")) }
      Process.kill(signal, pid)
    end.tap { assert_nobody_left }
  end

  # The order of the rows follows from the seed, as in Array#shuffle.
  def seed_with_sequence_first
    rows = %w[sequence threads]
    (1..).find { |seed| rows.shuffle(random: Random.new(seed)) == rows }.to_s
  end

  def assert_saved
    report = JSON.parse(File.read(path("a.json"))).fetch("reports").first
    assert_equal [true, 1], [report["interrupted"], report["rows"].first["n"]]
  end

  # The file holds the pid of the process that ran the endless row.
  def assert_nobody_left
    pid = File.read(path("begun")).to_i
    return unless pid > 1

    wait_until(what: "the end of process #{pid}") { gone?(pid) }
  end

  def gone?(pid)
    Process.kill(0, pid)
    false
  rescue Errno::ESRCH
    true
  end
end
