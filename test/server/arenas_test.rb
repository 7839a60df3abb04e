# frozen_string_literal: true

require_relative "../test_helper"
require "plait/server/arenas"
require "rbconfig"

class ServerArenasTest < Minitest::Test
  # What threads have gone on with stays in memory that shows, in the maps of a process, how many arenas there are: each is
  # of 64 MB, aligned so, and read and written from its beginning on.
  PROGRAM = <<~RUBY
    require "plait/server/arenas"
    limited = Plait::Server::Arenas.limit
    gate = Thread::Queue.new
    threads = Array.new(24) { Thread.new { Array.new(100) { "x" * 2_000 }.tap { gate.pop } } }
    sleep(0.01) until gate.num_waiting == 24
    arenas = File.readlines("/proc/self/maps").count { |line| line.match?(/\\A[0-9a-f]+[048c]000000-[0-9a-f]+ rw-p 0+ 00:00 0 *$/) }
    puts(limited, arenas)
    gate.close
    threads.each(&:join)
  RUBY

  def test_threads_share_them
    limited, arenas = run_program({})
    skip("malloc is not glibc's") if limited == "false"
    assert_equal("true", limited)
    assert_operator(Integer(arenas), :<=, Plait::Server::Arenas::COUNT)
    assert_operator(Integer(run_program({ "MALLOC_ARENA_MAX" => "8" }).last), :>, Plait::Server::Arenas::COUNT)
  end

  def test_who_has_said_another_number_knows_better
    refute(Plait::Server::Arenas.limit({ "MALLOC_ARENA_MAX" => "8" }))
  end

  private

  def run_program(env)
    command = [RbConfig.ruby, "-I#{Support::ROOT}/lib", "-e", PROGRAM]
    IO.popen({ "MALLOC_ARENA_MAX" => nil, **env }, command, &:readlines).map(&:chomp)
  end
end
