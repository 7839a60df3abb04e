# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"

# The event loop under a filter of system calls (seccomp), as containers have.
class FilteredCallsTest < Minitest::Test
  NUMBERS = {
    "x86_64-linux" => { epoll_pwait2: 441, pidfd_open: 434, epoll_ctl: 233, prctl: 157 },
    "aarch64-linux" => { epoll_pwait2: 441, pidfd_open: 434, epoll_ctl: 21, prctl: 167 }
  }.freeze

  # Refuses system calls from here on, in the threads that this one starts, too.
  FILTER = <<~RUBY
    require "plait"
    require "plait/mechanisms/scheduler"
    def refuse(error, *numbers)
      program = [[0x20, 0, 0, 0]] # load the number
      numbers.each.with_index { |number, index| program << [0x15, numbers.size - index, 0, number] } # equal: to the last line
      program << [0x06, 0, 0, 0x7fff0000] << [0x06, 0, 0, 0x00050000 | error::Errno] # allow; refuse
      code = program.map { |line| line.pack("SCCL") }.join
      filter = [program.size, code].pack("Sx6p")
      syscall(Integer(ARGV[0]), 38, 1, 0, 0, 0)
      syscall(Integer(ARGV[0]), 22, 2, [filter].pack("p").unpack1("J"), 0, 0)
    rescue SystemCallError
      print("no filter")
      exit!
    end
  RUBY

  def numbers = NUMBERS[Gem::Platform.local.then { |platform| "#{platform.cpu}-#{platform.os}" }]

  def assert_prints(expected, code)
    skip "seccomp is of Linux, and the numbers of this processor are not known" unless numbers && RUBY_ENGINE == "ruby"
    result = Support::FreshRuby.run(FILTER + code, numbers.fetch(:prctl).to_s)
    skip "this system sets no filter" if result.out == "no filter"

    assert_equal([expected, ""], [result.out, result.err])
  end

  # Docker before 20.10 says EPERM to all that it does not know; the kernel itself ENOSYS.
  %w[EPERM ENOSYS].each do |error|
    define_method("test_newer_calls_that_are_refused_by_#{error.downcase}") do
      assert_prints("read x, slept, exited 3", <<~RUBY)
        refuse(Errno::#{error}, #{numbers&.values_at(:epoll_pwait2, :pidfd_open)&.join(", ")})
        notes = {}
        Thread.new do
          Fiber.set_scheduler(Plait::Scheduler.new)
          reader, writer = IO.pipe
          Fiber.schedule { notes[1] = "read \#{reader.read(1)}" }
          Fiber.schedule { sleep(0.01) && (notes[2] = "slept") && writer.write("x") }
          Fiber.schedule { notes[3] = "exited \#{Process.wait2(spawn("sleep 0.01; exit 3")).last.exitstatus}" }
        end.join
        print(notes.sort.map(&:last).join(", "))
      RUBY
    end
  end

  # What is only looked at keeps its registration: to wait for it again takes no system call.
  def test_a_look_at_what_the_loop_refers_to_changes_nothing
    skip "a selector of the extension" unless Plait.const_defined?(:NativeSelector)
    assert_prints("ab", <<~RUBY)
      require "objspace"
      GC.disable
      Thread.new do
        Fiber.set_scheduler(scheduler = Plait::Scheduler.new)
        reader, writer = IO.pipe
        Fiber.schedule do
          print(reader.readpartial(1))
          ObjectSpace.reachable_objects_from(scheduler.instance_variable_get(:@selector))
          refuse(Errno::ENOMEM, #{numbers&.fetch(:epoll_ctl)})
          print(reader.readpartial(1))
        end
        Fiber.schedule { "ab".each_char { |char| sleep(0.02) && writer.syswrite(char) } }
      end.join
    RUBY
  end
end
