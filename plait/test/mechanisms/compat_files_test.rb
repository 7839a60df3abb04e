# frozen_string_literal: true

require "test_helper"
require "support/scheduler_cases"
require "support/fresh_ruby"
require "support/interrupts"
require "pathname"
require "timeout"

# Opening FIFOs and locking files, in a fiber: who waits for that lets the others run.
class CompatFilesTest < Minitest::Test
  include SchedulerCases
  include Support::Interrupts

  # --- FIFOs

  # Each waits for the other, which it would never meet if it stopped the thread.
  READERS = {
    "File.open" => ->(path) { File.open(path, &:read) },
    "File.open with a mode" => ->(path) { File.open(path, "r", &:read) },
    "File.open with mode:" => ->(path) { File.open(path, mode: "r", &:read) },
    "File.open with mode: and an encoding" => ->(path) { File.open(path, mode: "r:UTF-8", &:read) },
    "File.open with flags" => ->(path) { File.open(path, File::RDONLY, &:read) },
    "File.open with flags:" => ->(path) { File.open(path, flags: File::NOCTTY, &:read) },
    "File.new" => ->(path) { File.new(path).then { |file| file.read.tap { file.close } } },
    "File.open of a Pathname" => ->(path) { File.open(Pathname.new(path), &:read) },
    "Kernel#open" => ->(path) { open(path, &:read) }, # rubocop:disable Security/Open
    "Kernel.open" => ->(path) { Kernel.open(path, &:read) },
    "Kernel#open with mode:" => ->(path) { open(path, mode: "r", &:read) }, # rubocop:disable Security/Open
    "IO.read" => ->(path) { IO.read(path) }, # rubocop:disable Security/IoMethods
    "File.read" => ->(path) { File.read(path) },
    "File.read of some" => ->(path) { File.read(path, 100).force_encoding("UTF-8") },
    "File.read with an encoding" => ->(path) { File.read(path, encoding: "UTF-8") },
    "File.open with an encoding" => ->(path) { File.open(path, "r", encoding: "UTF-8", &:read) },
    "File.read with mode:" => ->(path) { File.read(path, mode: "rb").force_encoding("UTF-8") },
    "IO.binread" => ->(path) { IO.binread(path).force_encoding("UTF-8") }, # rubocop:disable Security/IoMethods
    "IO.readlines" => ->(path) { IO.readlines(path, chomp: true).join("\n").concat("\n") }, # rubocop:disable Security/IoMethods
    "IO.sysopen" => ->(path) { IO.for_fd(IO.sysopen(path)).then { |io| io.read.tap { io.close } } },
    "IO.foreach" => ->(path) { [].tap { |lines| IO.foreach(path) { |line| lines << line } }.join } # rubocop:disable Security/IoMethods
  }.freeze

  TEXT = "one\nü\n"

  WRITERS = {
    "File.open" => ->(path) { File.open(path, "w") { |file| file.write(TEXT) } },
    "File.open with mode:" => ->(path) { File.open(path, mode: "w") { |file| file.write(TEXT) } },
    "File.open with flags" => ->(path) { File.open(path, File::WRONLY) { |file| file.write(TEXT) } },
    "IO.sysopen" => ->(path) { IO.for_fd(IO.sysopen(path, File::WRONLY)).then { |io| io.write(TEXT).tap { io.close } } },
    "Kernel#open" => ->(path) { open(path, "w") { |file| file.write(TEXT) } }, # rubocop:disable Security/Open
    "IO.write" => ->(path) { IO.write(path, TEXT) }, # rubocop:disable Security/IoMethods
    "File.write with mode:" => ->(path) { File.write(path, TEXT, mode: "a") },
    "IO.binwrite" => ->(path) { IO.binwrite(path, TEXT) } # rubocop:disable Security/IoMethods
  }.freeze

  READERS.each do |name, read|
    define_method("test_reading_a_fifo_by_#{name}") { assert_equal(TEXT, through_a_fifo(read, WRITERS["File.open"])) }
  end

  WRITERS.each do |name, write|
    define_method("test_writing_a_fifo_by_#{name}") { assert_equal(TEXT, through_a_fifo(READERS["File.open"], write)) }
  end

  def test_it_does_not_block_once_it_is_open
    with_fifo do |path|
      in_fiber do
        Fiber.schedule { File.open(path, "w") { sleep(0.001) } }
        File.open(path) { |file| assert_predicate(file, :nonblock?) }
      end
    end
  end

  def test_waiting_for_the_other_end_can_be_cancelled
    with_fifo do |path|
      assert_no_leaks do
        in_fiber { 3.times { assert_raises(Timeout::Error) { Timeout.timeout(0.005) { File.read(path) } } } }
      end
    end
  end

  # The second one comes while the first calls the opening off.
  def test_two_cancellations_at_once
    with_fifo do |path|
      assert_no_leaks do
        in_fiber do
          3.times do
            assert_raises(Timeout::Error) { Timeout.timeout(0.005) { Timeout.timeout(0.005) { File.read(path) } } }
          end
        end
      end
    end
  end

  def test_errors
    with_fifo do |path|
      in_fiber do
        assert_raises(ArgumentError) { File.open(path, "nonsense") }
        assert_raises(ArgumentError) { File.open(path, "r", mode: "r") }
        assert_raises(Errno::EEXIST) { File.open(path, "w", flags: File::CREAT | File::EXCL) }
        assert_raises(Errno::ENXIO) { File.open(path, File::WRONLY | File::NONBLOCK) }
        Fiber.schedule { assert_raises(Errno::ESPIPE) { File.read(path, 1, 1) } }
        assert_raises(Errno::ESPIPE) { File.write(path, "x", 1) }
      end
    end
  end

  # --- Files that are none

  # Ruby 3.4 calls open(2) again where it was broken off: each cut took a second then, and ended by a kill.
  def test_openings_that_are_cut_end_soon
    with_fifo do |path|
      took = Array.new(3).lazy.map do # a machine that stands still fails one try
        started = now
        in_fiber { 30.times { assert_raises(Timeout::Error) { Timeout.timeout(0.002) { File.open(path) } } } }
        now - started
      end
      assert(took.any? { |seconds| seconds < 15 })
    end
  end

  def test_what_is_no_fifo_is_opened_as_ever
    Dir.mktmpdir do |folder|
      path = File.join(folder, "f")
      in_fiber { use_a_file(path) }
      assert_equal("aü", File.read(path))
      assert_equal(0o600, File.stat(path).mode & 0o777)
    end
  end

  def test_a_descriptor_is_opened_as_ever
    in_fiber do
      reader, writer = IO.pipe
      writer << "x"
      assert_equal("x", File.new(reader.fileno, autoclose: false).readpartial(1))
      assert_equal(2, File.open(writer.fileno, mode: "w", autoclose: false) { |file| file.syswrite("yz") })
      assert_raises(TypeError) { File.new(nil) }
      assert_raises(ArgumentError) { File.new }
    end
  end

  def test_the_rest_of_kernel_open
    assert_raises(NoMethodError) { Object.new.open(File::NULL) }
    return if RUBY_VERSION >= "4.0" # it starts no command any longer

    collect_warnings { in_fiber { assert_equal("x\n", open("| echo x", &:read)) } } # rubocop:disable Security/Open
  end

  # --- Locks

  def test_two_fibers_lock_one_file
    with_locked_file do |path, holder|
      in_fiber do
        order = []
        waiter = Fiber.schedule do
          File.open(path) { |file| order << [:locked, file.flock(File::LOCK_SH)] }
        end
        order << :free
        holder.flock(File::LOCK_UN)
        sleep(0.001) while waiter.alive?
        assert_equal([:free, [:locked, 0]], order)
      end
    end
  end

  def test_a_lock_that_is_not_waited_for
    with_locked_file do |path|
      in_fiber { File.open(path) { |file| refute(file.flock(File::LOCK_EX | File::LOCK_NB)) } }
    end
  end

  def test_an_operation_that_is_none
    in_fiber { File.open(File::NULL) { |file| assert_raises(TypeError) { file.flock(nil) } } }
  end

  def test_waiting_for_a_lock_can_be_cancelled
    with_locked_file do |path|
      in_fiber do
        File.open(path) { |file| assert_raises(Timeout::Error) { Timeout.timeout(0.005) { file.flock(File::LOCK_EX) } } }
      end
    end
  end

  # --- Elsewhere

  # With none of the mends, a program has its Ruby as it was.
  def test_a_program_without_a_scheduler
    result = Support::FreshRuby.run(<<~RUBY)
      require "plait"
      Plait.map([1], on: :threads) { |x| x }
      mended = [IO, IO.singleton_class, File, Kernel, Kernel.singleton_class, Thread, Mutex, Enumerator, Fiber].select do |m|
        m.ancestors.any? { |a| a.to_s.include?("Patches") }
      end
      print mended
    RUBY
    assert_equal(["[]", ""], [result.out, result.err])
  end

  # The File that is interrupted as it gets its descriptor, and the one of the thread that has opened it.
  def test_an_interrupt_leaves_a_fifo_one_owner
    with_fifo do |path|
      other = Thread.new { File.open(path, "w") }
      file, = Plait.run(on: :fibers) { interrupt_behind(:initialize, of: File) { File.open(path, "r") } }
      assert_predicate(file.stat, :pipe?)
      file.close
      other.value.close
    end
  end

  private

  # One fiber reads, another one writes.
  def through_a_fifo(read, write)
    text = nil
    with_fifo do |path|
      in_fiber do
        Fiber.schedule { text = read.call(path) }
        assert_equal(TEXT.bytesize, write.call(path))
      end
    end
    text
  end

  def with_fifo
    Dir.mktmpdir do |folder|
      path = File.join(folder, "fifo")
      File.mkfifo(path)
      yield path
    end
  end

  def with_locked_file
    Dir.mktmpdir do |folder|
      path = File.join(folder, "locked")
      File.open(path, "w") do |holder|
        holder.flock(File::LOCK_EX)
        yield path, holder
      end
    end
  end

  def use_a_file(path)
    File.open(path, "w", 0o600) { |file| file.write("a") }
    File.open(path, mode: "a") { |file| file.write("ü") }
    assert_equal(%w[aü aü a], [File.open(path, mode: "r", &:read), open(path, &:read), File.new(path).getc]) # rubocop:disable Security/Open
    assert_equal(["aü", ["aü"], "ü"], [File.read(path), IO.readlines(path), File.binread(path, 2, 1).force_encoding("UTF-8")]) # rubocop:disable Security/IoMethods
    assert_raises(Errno::EEXIST) { File.new(path, File::CREAT | File::EXCL | File::WRONLY) }
    assert_raises(Errno::ENOENT) { File.open("#{path}.none") }
  end
end
