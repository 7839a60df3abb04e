# frozen_string_literal: true

require "test_helper"
require "plait/io/native"
require "minitest/mock"
require "plait/server"

if Plait.const_get(:Native).available? && Plait.const_defined?(:NativeServer)
  class ServerReadAheadTest < Minitest::Test
    def test_nobody_else_waits_where_there_is_no_loop
      File.open(__FILE__) { |file| assert_equal(7, Plait::Server.const_get(:ReadAhead).new(file).fetch(0, 7)) }
    end

    def test_what_was_read_ahead_is_not_read_again
      absent do
        File.open(__FILE__) do |file|
          ahead = Plait::Server.const_get(:ReadAhead).new(file)
          assert_equal([100, 60], [ahead.fetch(0, 100), ahead.fetch(40, 1000)])
        end
      end
    end

    def test_no_descriptor_is_left_where_no_thread_has_come_to_read
      refuse = ->(**) { raise Plait::OffloadRefused, "the offload pool is closed" }
      assert_no_leaks do
        absent do
          File.open(__FILE__) do |file|
            Plait.stub(:offload, refuse) do
              assert_raises(Plait::OffloadRefused) { Plait::Server.const_get(:ReadAhead).new(file).fetch(0, 100) }
            end
          end
        end
      end
    end

    private

    # In a fiber, and as if nothing of the file were in the kernel's memory.
    def absent(&block)
      Plait.const_get(:NativeServer).stub(:present?, false) { Plait.map([1], on: :fibers, &block) }
    end
  end
end
