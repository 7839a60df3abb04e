# frozen_string_literal: true

require "timeout"

module ServerCases
  # What another thread raises into one that runs methods, as rack-timeout does.
  module Raised
    class Foreign < Exception # rubocop:disable Lint/InheritException
    end

    def test_what_another_thread_raises_ends_its_method_at_most
      serve({ go_on: ->(number) { raise_later(Thread.current) && number }, add: ->(a, b) { a + b } })
      talker = connect
      200.times { |number| assert_answered(number, call(talker, "go_on", number)) }
      300.times { |number| talker.request(number, "go_on", number) }
      assert_equal((0...300).to_a, talker.hear_many(300).map { |answer| answer[1] }.sort)
      wait_until { Thread.list.none? { |thread| thread.name == "raiser" } }
      assert_serves(talker)
      wait_until { count(:running).zero? }
    end

    # Behind the method, in the middle of it, or of what follows.
    def raise_later(thread)
      Thread.new { 2.times { thread.raise(Foreign, "too late") || sleep(rand / 2_000) } }.name = "raiser"
    end

    def assert_answered(number, answer)
      error, result = answer
      error ? assert_match(/\AAbandonedError/, error) : assert_equal(number, result)
    end

    # The first three are run in C, unless the exception ends one of them. The last one is for Ruby to run.
    ROW = [["add", [1, 2]], ["early", [5]], ["delayed", [6]], ["nothing", []]].freeze
    # Enough for a row: where Ruby looks for exceptions.
    PLACES = 250

    def test_wherever_an_exception_comes_no_request_is_lost
      skip("methods have threads of their own only on :threads") unless mechanism == :threads && RUBY_ENGINE == "ruby"
      serve_quick
      talker = trained
      (1..PLACES).each do |number|
        places = raise_at(number) do
          talker.socket.write(ROW.each_with_index.map { |call, id| [0, id, *call].to_msgpack }.join)
          ROW.each { assert(talker.hears?(60), "a request is lost") && talker.hear }
        end
        assert_equal([nil, 3], call(talker, "add", 1, 2), places[number - 1])
      end
      wait_until { count(:running).zero? && count(:waiting).zero? }
    end

    # Raises in a worker thread, where Ruby looks for exceptions for the so-manieth time, if a method may be running.
    # @return [Array<String>] the places
    def raise_at(number, &block)
      places = []
      trace = TracePoint.new(:return, :b_return, :c_return) do |point|
        guard = Plait.const_get(:ThreadGuard).guards(Thread.current)&.last
        next if guard.nil? || !point.path.include?("/lib/plait/rpc/") || point.path.end_with?("survival.rb")

        next if (places << "#{point.method_id}, #{point.path}:#{point.lineno}").size != number

        guard.call(Thread.current, Foreign.new("at #{places.last}"))
      end
      trace.enable(&block)
      places
    end

    def test_timeouts_in_methods
      serve({ late: -> { Timeout.timeout(0.05) { sleep } } })
      talker = connect
      3.times { assert_match(/\ATimeout::Error/, call(talker, "late").first) }
    end
  end
end
