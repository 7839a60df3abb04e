# frozen_string_literal: true

require "minitest/mock"
require "tmpdir"
require "test_helper"
require "support/interrupts"
require "plait/io/native"
require "plait/server"

if Plait.const_get(:Native).available? && Plait.const_defined?(:NativeServer)
  class ServerOpenFileTest < Minitest::Test
    include Support::Interrupts

    OPEN = Plait::Server.const_get(:OpenFile)

    def test_on_threads = assert_files { |path| OPEN.call(path) }

    def test_in_fibers = assert_files { |path| in_fiber { OPEN.call(path) } }

    def test_in_fibers_where_nothing_is_known
      unknown { assert_files { |path| in_fiber { OPEN.call(path) } } }
    end

    def test_what_is_in_memory_takes_no_thread
      number = Plait.const_get(:NativeServer).open_known(__FILE__)
      skip("this Linux knows no RESOLVE_CACHED") unless number
      IO.for_fd(number).close
      Plait.stub(:offload, ->(**) { flunk("asked for a thread") }) { in_fiber { OPEN.call(__FILE__) }.close }
    end

    # Whoever writes to a pipe would be told that somebody reads.
    def test_a_pipe_is_not_opened
      in_folder do |folder|
        File.mkfifo(path = File.join(folder, "pipe"))
        assert_nil(in_fiber { OPEN.call(path) })
        writer = Thread.new { File.open(path, "w", &:close) }
        wait_until { writer.stop? }
        assert_nil(Plait.const_get(:NativeServer).open_known(path))
        assert(writer.alive?)
        File.open(path, &:close)
        writer.join
      end
    end

    def test_no_descriptor_is_left_where_the_fiber_has_ended_first
      late = nil
      assert_no_leaks do
        assert_ended { |block| late = block }
        late.call
      end
    end

    def test_no_descriptor_is_left_where_the_thread_has_ended_first = assert_no_leaks { assert_ended(&:call) }

    def test_an_interrupt_loses_no_descriptor
      GC.disable
      _, number = in_fiber { interrupt_behind(:open_known) { OPEN.call(__FILE__) } }
      skip("this Linux knows no RESOLVE_CACHED") unless number
      assert(ObjectSpace.each_object(File).find { |file| !file.closed? && file.fileno == number })
    ensure
      GC.enable
    end

    private

    def assert_files
      in_folder do |folder|
        File.write(path = File.join(folder, "file"), "bytes\r\n")
        assert_no_leaks do
          file = yield(path)
          assert_equal("bytes\r\n".b, file.read)
          file.close
          [folder, "#{folder}/none", "/dev/null"].each { |other| assert_nil(yield(other)) }
        end
        assert_raises(ArgumentError) { yield("\0") }
      end
    end

    def assert_ended(&with)
      ended = lambda do |**, &block|
        with.call(block)
        raise Plait::OffloadRefused, "ended"
      end
      unknown do
        Plait.stub(:offload, ended) { assert_raises(Plait::OffloadRefused) { in_fiber { OPEN.call(__FILE__) } } }
      end
    end

    def unknown(&block) = Plait.const_get(:NativeServer).stub(:open_known, nil, &block)

    def in_fiber(&block) = Plait.map([1], on: :fibers, &block).first

    def in_folder(&block) = Dir.mktmpdir("plait-test-", &block)
  end
end
