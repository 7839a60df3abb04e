# frozen_string_literal: true

require_relative "../test_helper"
require_relative "server_cases"

class ServerOnHybridTest < Minitest::Test
  include ServerCases

  def mechanism = :hybrid

  def test_what_holds_the_loop_moves_to_threads
    threads = Thread::Queue.new
    serve(lint: false) do |env|
      threads << Thread.current
      compute(0.03) if env["PATH_INFO"].start_with?("/slow")
      [200, {}, []]
    end
    caller = connect
    4.times { |number| caller.get("/slow/#{number}") }
    caller.get("/quick")
    first, second, third, fourth, quick = Array.new(5) { threads.pop }
    assert_equal([first, first], [second, quick], "the loop's thread")
    refute_includes([third, fourth], first)
  end

  private

  def compute(seconds)
    till = Plait::Deadline.now + seconds
    nil while Plait::Deadline.now < till
  end
end
