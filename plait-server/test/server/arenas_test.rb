# frozen_string_literal: true

require "test_helper"
require "plait/server/surroundings"
require "rbconfig"

class ServerArenasTest < Minitest::Test
  # What threads have gone on with stays in memory that shows, in the maps of a process, how many arenas there are beside the
  # first: each is of 64 MB, aligned so, read and written from its beginning on, and closed from there to its end.
  PROGRAM = <<~RUBY
    require "plait/server/surroundings"
    limited = Plait::Server::Arenas.limit
    gate = Thread::Queue.new
    threads = Array.new(24) { Thread.new { Array.new(100) { "x" * 2_000 }.tap { gate.pop } } }
    sleep(0.01) until gate.num_waiting == 24
    arenas = File.read("/proc/self/maps").scan(/^\\h+[048c]000000-(\\h+) rw-p 0+ 00:00 0 *\\n\\1-\\h+ ---p/).size
    puts(limited, arenas)
    gate.close
    threads.each(&:join)
  RUBY

  # Bodies are freed, and what lies between them is kept: too much for the gaps that there are. One that was freed before has
  # malloc put such bodies among the small.
  BODIES = <<~RUBY
    require "plait/server/surroundings"
    def memory = File.read("/proc/self/statm").split[1].to_i * 4096
    puts(Plait::Server::Arenas.limit)
    def pairs = Array.new(200) { ["b" * 300_000, "s" * 40_000] }
    "x" * 1_000_000
    GC.start
    before = memory
    small = Thread.new { pairs.map(&:last) }.value # on the main thread, the stack of Ruby 4.0 keeps all pairs
    GC.start
    puts(memory - before, small.size)
  RUBY

  def test_threads_share_them
    limited, arenas = run_program({})
    skip("malloc is not glibc's") if limited == "false"
    assert_equal("true", limited)
    assert_operator(Integer(arenas), :<, Plait::Server::Arenas::COUNT)
    assert_operator(Integer(run_program({ "MALLOC_ARENA_MAX" => "8" }).last), :>, Plait::Server::Arenas::COUNT)
  end

  def test_what_is_large_goes_back_when_it_is_freed
    limited, kept, = run_program({}, BODIES)
    skip("malloc is not glibc's") if limited == "false"
    assert_operator(Integer(kept), :<, 20_000_000, "bytes of 60 million")
    assert_operator(Integer(run_program({ "MALLOC_MMAP_THRESHOLD_" => (1 << 24).to_s }, BODIES)[1]), :>, 20_000_000)
  end

  def test_what_is_taken_and_not_freed_is_told
    before = Plait.const_get(:NativeMalloc).used or skip("malloc doesn't tell")
    text = "t" * 10_000_000
    assert_operator(Plait.const_get(:NativeMalloc).used - before, :>, text.bytesize / 2)
  end

  def test_who_has_said_another_number_knows_better
    refute(Plait::Server::Arenas.limit({ "MALLOC_ARENA_MAX" => "8" }))
  end

  private

  def run_program(env, program = PROGRAM)
    command = [RbConfig.ruby, *Support::FLAGS, "-e", program]
    IO.popen({ "MALLOC_ARENA_MAX" => nil, "MALLOC_MMAP_THRESHOLD_" => nil, **env }, command, &:readlines).map(&:chomp)
  end
end
