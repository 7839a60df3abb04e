# frozen_string_literal: true

require "test_helper"
require "plait/rpc"

# Those who do a server's work, without any work.
class RPCWorkerPoolTest < Minitest::Test
  WorkerPool = Plait::RPC::Server.const_get(:WorkerPool)

  # Who could not come is not waited for.
  def test_when_there_was_no_thread_to_be_had_the_next_call_asks_for_one_again
    pool = WorkerPool.new(Plait::RPC.const_get(:Lock).new, nil, nil, nil, 10) { start }
    pool.begin
    @refuses = true
    pool.call
    assert_equal([2, 2], [@started, pool.size])
    @refuses = false
    pool.call
    assert_equal([3, 3], [@started, pool.size])
  end

  def setup = @started = 0

  private

  def start
    raise ThreadError, "can't create Thread: Resource temporarily unavailable" if @refuses

    @started += 1
  end
end
