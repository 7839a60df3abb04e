# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "plait/mechanisms/processes/forking"

class ForkingTest < Minitest::Test
  FORKED = <<~RUBY
    require "plait/mechanisms/processes/forking"
    Process.wait(Plait.const_get(:Forking).call { exit!(7) })
    print $?.exitstatus, " "
  RUBY
  MEASURED = <<~RUBY
    require "plait/lab"
    begin
      Plait::Lab.const_get(:FreshProcess).new(bound: 60).call { 7 }
    rescue Plait::Error => e
      print e.message[/status \\d/], " "
    end
  RUBY

  def setup
    skip("no fork here") unless Process.respond_to?(:fork)
  end

  # Before Ruby 3.2 a fork drops it: a Ctrl-C, a time limit, a cancellation.
  def test_what_the_forking_thread_is_still_to_be_raised_is_raised
    pid = nil
    assert_raises(KeyError) do
      Thread.handle_interrupt(KeyError => :never) do
        Thread.new(Thread.current) { |forker| forker.raise(KeyError) }.join
        pid = Plait.const_get(:Forking).call { exit!(7) }
      end
      flunk
    end
    assert_equal(7, Process.wait2(pid).last.exitstatus)
  end

  # A library may have hooks around Process._fork.
  def test_the_child_never_goes_on_in_the_program_of_its_parent
    ["raise 'hook'", "Process.kill(:TERM, Process.pid)", "Process.kill(:INT, Process.pid)"].each do |fault|
      assert_match(/\A[17] end\z/, printed(FORKED, fault), fault)
      assert_match(/\A(?:status 1 )?end\z/, printed(MEASURED, fault), fault)
    end
  end

  private

  # @param fault [String] what a new child does before anything else
  # @return [String] what the program and its child have printed
  def printed(program, fault)
    Support::FreshRuby.run(<<~RUBY).out
      require "plait"
      at_exit { print "end" }
      module FaultAtFork
        def _fork = super.tap { |pid| #{fault} if pid.zero? }
      end
      Process.singleton_class.prepend(FaultAtFork)
      #{program}
    RUBY
  end
end
