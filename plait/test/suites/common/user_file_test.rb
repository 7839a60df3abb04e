# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites"
require "plait/suites/common/user_file"
require "tmpdir"

class UserFileTest < Minitest::Test
  WHOLE = <<~RUBY
    require "zlib"
    require_relative "helper"

    FACTOR = 3

    title "Checksums"
    unit "words"
    setup { @log = [:set_up] }
    items { @log << :items; %w[a b c] }
    body { |word| checksum(word) * FACTOR + Offset }
    digest { |results| results.sum.to_s }
    on :sequence, :threads, %i[processes threads]
    limit 2, 4
    teardown { @log << :torn_down; puts @log.inspect }

    def checksum(word) = Zlib.crc32(word)
  RUBY

  def setup
    @folder = Dir.mktmpdir("plait-test-")
    File.write(File.join(@folder, "helper.rb"), "class Object\n  Offset ||= 1\nend\n")
  end

  def teardown = FileUtils.rm_rf(@folder)

  def test_a_whole_file
    workload = load(WHOLE)
    assert_equal %w[work Checksums words], [workload.name, workload.title, workload.unit]
    pair = %i[processes threads]
    assert_equal [[:sequence, 1], [:threads, 2], [:threads, 4], [pair, 2], [pair, 4]], rows(workload)
    cell = workload.cells.first
    assert_equal %w[a b c], cell.items
    assert_equal (Zlib.crc32("a") * 3) + 1, cell.body.call("a")
    assert_equal "6", cell.digest.call([1, 2, 3])
  end

  def test_setup_items_teardown_in_this_order_and_once
    workload = load(WHOLE)
    out, = capture_io { workload.around { nil } }
    assert_equal "[:set_up, :items, :torn_down]\n", out
  end

  def test_is_measured
    workload = load("items { 1..3 }\nbody { |n| n * 2 }\non :sequence, :threads\nlimit 2\n")
    report = Plait::Lab::Session.new(workload, rounds: 1, memory: false).run
    assert_empty report.rows.filter_map(&:failure)
    assert_empty report.mismatches
    assert_equal ["sequence", "threads (limit 2)"], report.rows.map(&:label)
  end

  def test_only_items_and_body_are_needed
    workload = load("items { [1] }\nbody { |n| n }\n")
    assert_equal %i[sequence threads fibers hybrid processes ractors], workload.cells.map(&:on)
    assert_equal ["work.rb", "items", [1]], [workload.title, workload.unit, workload.cells.map(&:limit).uniq]
  end

  def test_the_command_line_wins
    workload = load(WHOLE, on: [:fibers], limits: [7])
    assert_equal [[:fibers, 7]], rows(workload)
  end

  def test_the_body_may_go_to_a_ractor
    skip("no ractors here") unless defined?(Ractor)
    body = load("K = 2\nitems { [1] }\nbody { |n| twice(n) }\ndef twice(n) = n * K\n").cells.first.body
    assert_equal 6, Ractor.make_shareable(body).call(3)
  end

  def test_what_the_file_defines_travels_between_processes
    skip("no fork here") unless Process.respond_to?(:fork)
    source = "Point = Struct.new(:x)\nclass Odd < StandardError; end\nitems { [1, 2] }\n" \
             "body { |x| x == 1 ? Point.new(x) : raise(Odd, 'two') }\n"
    2.times do
      body = load(source).cells.first.body
      point, odd = Plait.map([1, 2], on: :processes, on_error: :collect, &body)
      assert_equal 1, point.value.x
      assert_equal "Plait::Suites::UserFile::Files::Work::Odd", odd.error.class.name
    end
  end

  def test_any_name_of_a_file_makes_a_name_of_a_module
    ["3-\u00fc.rb", "resize pictures.rb", "\u00fc", "Work.RB"].each do |name|
      File.write(File.join(@folder, name), "items { [1] }\nbody { |x| self }\n")
      script = Plait::Suites::UserFile.load(File.join(@folder, name)).cells.first.body.call(1)
      assert_match(/\APlait::Suites::UserFile::Files::(File3|ResizePictures|File|WorkRB)\z/, script.name)
    end
  end

  def test_the_constants_of_the_file_are_those_of_its_own_program
    ours = "[defined?(HTTP), defined?(Lab), defined?(BLOCKS), Module.nesting.size].inspect"
    assert_equal "[nil, nil, nil, 1]", load("items { [1] }\nbody { 1 }\ntitle #{ours}").title
  end

  def test_what_the_file_defines_stays_in_it
    load(WHOLE)
    refute Object.const_defined?(:FACTOR)
    refute_respond_to Object.new, :checksum, true
  end

  def test_missing_parts
    assert_refused "", "work.rb has no items and no body; add items { (1..50).to_a } and body { |item| work(item) }"
    assert_refused "items { [1] }", "work.rb has no body; add body { |item| work(item) }"
  end

  def test_parts_that_are_wrong
    both = "items { [1] }\nbody { |n| n }\n"
    assert_refused "#{both}body { |n| n }", "work.rb:3: there is a second body"
    assert_refused "\nitems [1, 2]", "work.rb:2: ArgumentError"
    assert_refused "items", "work.rb:1: items needs a block, e.g. items { (1..50).to_a }"
    assert_refused "#{both}limit 0", "work.rb:3: limit needs whole numbers from 1 up, e.g. limit 1, 8, 64"
    assert_refused "#{both}on", "work.rb:3: on needs mechanisms, e.g. on :threads"
    assert_refused "#{both}on :foo", "work.rb:3: there is no mechanism :foo; there are :sequence, :threads, :fibers, "
    assert_refused "#{both}on %i[threads fibers]", "work.rb:3: on: [:threads, :fibers] can't be combined; the pairs are "
    assert_refused "items { [] }\nbody { 1 }", "work.rb: items gave []; give an Array with at least one item"
    assert_refused "items { 5 }\nbody { 1 }", "work.rb: items gave 5; give an Array"
    assert_refused "items { 1.. }\nbody { 1 }", "work.rb: items gave 1..; give an Array"
    assert_refused "items { Enumerator.new { raise 'late' } }\nbody { 1 }", "work.rb:1: RuntimeError: late"
  end

  def test_a_file_that_does_not_parse
    error = assert_refused("items { [1] }\nbody { |n| n ", "work.rb does not parse: work.rb:2: ")
    refute_includes error.message, "\n"
  end

  def test_a_file_that_fails
    error = assert_refused("items { [1] }\n\nnonsense 5\n", "work.rb:3: NoMethodError: undefined method ")
    assert_match(/ [`']nonsense' for /, error.message)
    assert_refused "items { [1] }\nbody { 1 }\nrequire 'no_such'\n", "work.rb:3: LoadError: cannot load such file"
    assert_refused "setup { raise 'no power' }\nitems { [1] }\nbody { 1 }", "work.rb:1: RuntimeError: no power"
  end

  def test_a_gem_that_the_bundle_hides
    before = ENV.fetch("BUNDLE_GEMFILE", nil)
    ENV["BUNDLE_GEMFILE"] = "/clone/Gemfile"
    error = assert_refused("require 'no_such'", "work.rb:1: LoadError: cannot load such file -- no_such; only the gems of ")
    assert_match(%r{of /clone/Gemfile can be seen here: run `bundle exec plait` with a Gemfile that names plait}, error.message)
    ENV["BUNDLE_GEMFILE"] = nil
    assert_match(/-- no_such\z/, assert_refused("require 'no_such'", "work.rb:1: LoadError").message)
  ensure
    ENV["BUNDLE_GEMFILE"] = before
  end

  def test_a_file_that_exits
    assert_refused "items { [1] }\nexit\nbody { 1 }", "work.rb:2 calls exit; what is measured must come to its end"
    assert_refused "setup { abort }\nitems { [1] }\nbody { 1 }", "work.rb:1 calls exit"
    workload = load("items { [1] }\nbody { 1 }\nteardown { exit(7) }")
    assert_match(/work\.rb:3 calls exit/, assert_raises(Plait::UsageError) { workload.around { nil } }.message)
  end

  def test_a_file_that_fails_beyond_what_a_rescue_takes
    assert_refused "\nitems { raise SystemStackError, 'too deep' }\nbody { 1 }", "work.rb:2: SystemStackError: too deep"
    assert_refused "raise Exception, 'odd'", "work.rb:1: Exception: odd"
  end

  def test_an_interrupt_is_nobodys_mistake
    assert_raises(Interrupt) { load("raise Interrupt") }
  end

  def test_what_a_file_forks_ends_where_the_file_does
    skip("no fork here") unless Process.respond_to?(:fork)
    load("fork\nitems { [1] }\nbody { 1 }")
    assert_equal 0, Process.wait2.last.exitstatus
  end

  def test_a_file_that_is_not_there
    error = assert_raises(Plait::UsageError) { Plait::Suites::UserFile.load("/no/such.rb") }
    assert_equal "/no/such.rb can't be read: No such file or directory", error.message
    error = assert_raises(Plait::UsageError) { Plait::Suites::UserFile.load(@folder) }
    assert_match(/can't be read: Is a directory/, error.message)
  end

  def test_a_pipe
    skip("Java knows no such pipes") unless RUBY_ENGINE == "ruby"
    File.mkfifo(path)
    error = assert_raises(Plait::UsageError) { Timeout.timeout(30) { Plait::Suites::UserFile.load(path) } }
    assert_equal "#{path} is a pipe, and no program writes to it; name a file, or start the program that writes to it first",
                 error.message
    writer = Thread.new { File.write(path, "items { [1] }\nbody { |x| x }\n") }
    wait_until(what: "the writer to stand at the pipe") { writer.status == "sleep" }
    assert_equal "items", Plait::Suites::UserFile.load(path).unit
  ensure
    writer&.join
  end

  private

  def load(source, **options)
    File.write(path, source)
    Plait::Suites::UserFile.load(path, **options)
  end

  def rows(workload) = workload.cells.map { |cell| [cell.on, cell.limit] }

  def path = File.join(@folder, "work.rb")

  def assert_refused(source, beginning)
    error = assert_raises(Plait::UsageError) { load(source) }
    assert_operator error.message.delete_prefix("#{@folder}/"), :start_with?, beginning
    error
  end
end
