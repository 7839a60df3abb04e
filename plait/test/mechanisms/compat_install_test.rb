# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/ractors"

# When the mends come: with the first scheduler, and whole, whichever thread makes that.
class CompatInstallTest < Minitest::Test
  # The first mend waits here, in the thread that installs.
  HELD = <<~RUBY
    require "plait"
    require "plait/mechanisms/scheduler"
    Patches = Plait.const_get(:Patches)
    class << Patches::ALL.first
      prepend(Module.new { def install = (HELD[:begun] << true) && HELD[:let_go].pop && super })
    end
    HELD = { begun: Queue.new, let_go: Queue.new }
    def mended? = Thread < Patches::ThreadPatches::SharedThread::Variables && !Process.method(:_fork).source_location.nil? && Mutex < Patches::MutexPatches::MutexSleep == Patches.mutex_sleep?
  RUBY

  def assert_prints(expected, code)
    result = Support::FreshRuby.run(HELD + code)

    assert_equal([expected, ""], [result.out, result.err])
  end

  def test_a_second_thread_waits_until_the_first_has_installed_all
    assert_prints("[true]", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new.close }
      HELD[:begun].pop
      others = Array.new(20) { Thread.new { Plait::Scheduler.new.close && nil; mended? } }
      others.each { |other| other.join(0.01) }
      20.times { HELD[:let_go] << true }
      print others.map(&:value).uniq.inspect
      first.join
    RUBY
  end

  def test_a_thread_that_is_killed_meanwhile_leaves_it_to_the_next
    assert_prints("true", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new }
      HELD[:begun].pop
      first.kill.join
      HELD[:let_go] << true
      Plait::Scheduler.new.close
      print mended?
    RUBY
  end

  def test_a_fork_meanwhile
    skip "no fork" unless Process.respond_to?(:fork)
    assert_prints("true", <<~RUBY)
      first = Thread.new { Plait::Scheduler.new.close }
      HELD[:begun].pop
      Process.wait(fork do
        HELD[:let_go] << true
        Plait::Scheduler.new.close
        print mended?
      end)
      HELD[:let_go] << true
      first.join
    RUBY
  end

  def test_a_signal_handler_meanwhile
    assert_prints("true", <<~RUBY)
      trap("USR1") do
        HELD[:let_go] << true << true
        Plait::Scheduler.new
        print mended?
      end
      Thread.new { HELD[:begun].pop && Process.kill(:USR1, Process.pid) }
      Plait::Scheduler.new.close
    RUBY
  end

  def test_every_mend_can_be_installed_twice
    assert_prints("[true, 3]", <<~RUBY)
      HELD[:let_go] << true << true
      2.times { Patches::ALL.each(&:install) }
      Thread.current.priority = 3
      print [mended?, Thread.current.priority]
    RUBY
  end

  # --- Only where they are needed, and wanted

  # The Rubies that a patch is for, where not all are.
  RUBIES = { "select" => ..."3.2", "enumerator" => ..."3.3", "fiber" => ..."3.3",
             "older_thread" => ..."3.3", "socket" => "3.4".. }.freeze

  def test_a_ruby_loads_only_what_it_needs
    files = Dir.children(File.expand_path("../../lib/plait/mechanisms/patches", __dir__))
    names = files.map { |file| file.delete_suffix("_patches.rb") }
    needed = names.select { |name| RUBIES.fetch(name, "0"..).cover?(RUBY_VERSION) }
    assert_empty(RUBIES.keys - names)
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      require "plait/mechanisms/scheduler"
      print $LOADED_FEATURES.grep(%r{mechanisms/patches/}).map { |path| File.basename(path, "_patches.rb") }.sort.join(" ")
    RUBY
    assert_equal([needed.sort.join(" "), ""], [result.out, result.err])
  end

  # What Ruby calls when the program does.
  ANCESTORS = <<~RUBY
    require "plait"
    require "socket"
    CLASSES = [IO, File, Kernel, Process, Fiber, Thread, Mutex, ConditionVariable, Enumerator, TCPSocket].freeze
    def ancestors = CLASSES.flat_map { |one| [one.ancestors, one.singleton_class.ancestors] }
    BEFORE = ancestors
    def patched? = ancestors != BEFORE
  RUBY

  def assert_unpatched(expected, code, **env)
    result = Support::FreshRuby.run(ANCESTORS + code, env: env.transform_keys(&:to_s))
    assert_equal([expected, ""], [result.out, result.err])
  end

  # Each kind of wait, and a child with none of the fibers.
  WAITS = <<~RUBY
    def waits
      reader, writer = IO.pipe
      lock = Mutex.new
      freed = ConditionVariable.new
      Plait.map([-> { sleep(0.001) && 1 }, -> { reader.gets.to_i }, -> { writer.puts("2").then { 3 } },
                 -> { lock.synchronize { freed.wait(lock) }.then { 4 } }, -> { sleep(0.01).then { freed.signal }.then { 5 } },
                 -> { Thread.new { 6 }.value }, -> { Timeout.timeout(0.01) { Queue.new.pop } rescue 7 }],
                on: :fibers, &:call) + Plait.map([8], on: [:processes, :fibers]) { |n| sleep(0.001) && n }
    end
  RUBY

  AFTER_A_RUN = <<~RUBY
    require "plait"
    Plait.map([1, 2], on: :fibers) { |x| x }
  RUBY

  def test_methods_in_ractors_after_a_run_on_fibers
    Support::Ractors.with_threads_needed
    result = Support::FreshRuby.run(<<~RUBY)
      #{AFTER_A_RUN}
      $VERBOSE = nil
      Pair = Struct.new(:left, :right)
      ractor = Ractor.new do
        mutex = Mutex.new.tap(&:lock)
        mutex.sleep(0.001)
        File.open(File::NULL) { |file| file.flock(File::LOCK_SH) }
        [Thread.new { 7 }.join(60).value, Fiber.new { 8 }.resume, [9].cycle.next, File.read(File::NULL), Pair.new(1, 2).right,
         IO.select([], [], [], 0), Thread.current.thread_variable_get(:none)]
      end
      print (ractor.respond_to?(:value) ? ractor.value : ractor.take).inspect
    RUBY

    assert_equal(['[7, 8, 9, "", 2, nil, nil]', ""], [result.out, result.err])
  end

  def test_a_loop_that_a_signal_handler_ends
    result = Support::FreshRuby.run(<<~RUBY)
      #{AFTER_A_RUN}
      ended = Queue.new
      trap(:USR1) { ended << Plait::Scheduler.new.close.class }
      Process.kill(:USR1, Process.pid)
      print ended.pop
    RUBY

    assert_equal(["NilClass", ""], [result.out, result.err])
  end

  def test_an_enumerator_of_a_fiber_goes_on_outside
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      values = Plait.map([[1, 2, 3].each], on: :fibers) { |enumerator| enumerator.tap(&:next) }.first
      print [values.peek, values.next, values.next, values.size].inspect
    RUBY

    assert_equal(["[2, 2, 3, 3]", ""], [result.out, result.err])
  end

  def test_arguments_and_blocks_pass_the_patches
    result = Support::FreshRuby.run(<<~RUBY)
      #{AFTER_A_RUN}
      check = lambda do
        doubling = Fiber.new { |a, b: 0, &block| [a, b, block] }
        [doubling.resume(1, b: 2), File.open(File::NULL, mode: "r", &:fileno).class, File.read(File::NULL, mode: "rb").encoding.to_s,
         (Fiber.new { 1 }.tap(&:resume).resume rescue $!.class), (Thread.new { 1 }.join("x") rescue $!.class)]
      end
      print (check.call == Plait.map([1], on: :fibers) { check.call }.first), check.call.inspect
    RUBY

    assert_equal(['true[[1, 2, nil], Integer, "ASCII-8BIT", FiberError, TypeError]', ""], [result.out, result.err])
  end

  def test_a_process_without_patches
    assert_unpatched("[[1, 2, 3, 4, 5, 6, 7, 8], false]", "#{WAITS}print [waits, patched?]", PLAIT_PATCH: "0")
    assert_unpatched("[[1, 2, 3, 4, 5, 6, 7, 8], true]", "#{WAITS}print [waits, patched?]", PLAIT_PATCH: "1")
  end

  def test_a_scheduler_without_patches
    assert_unpatched("[[1, 2, 3, 4, 5, 6, 7, 8], false, [1], false]", <<~RUBY)
      #{WAITS}
      Thread.new do
        Fiber.set_scheduler(Plait::Scheduler.new(patch: false))
        Fiber.schedule { print "[", waits, ", ", patched? }
      end.join
      print ", ", Plait.map([1], on: :fibers) { |n| sleep(0.001).then { n } }, ", ", patched?, "]"
    RUBY
  end

  def test_a_scheduler_without_patches_comes_too_late
    assert_unpatched("patch: false comes too late", <<~RUBY)
      Plait::Scheduler.new.close
      begin
        Plait::Scheduler.new(patch: false)
      rescue Plait::UsageError => e
        print e.message[/\\A[^:]+: \\w+ comes too late/]
      end
    RUBY
  end
end
