# frozen_string_literal: true

require "plait/lab"
require "plait/values/deadline"
require "plait/cli/command"

module Plait
  module CLI
    class Rpc < Command
      class Bench
        # Calls of one method, as many as come to their end in a while.
        class Load
          # Seconds until it is measured.
          WARM_UP = 0.1

          # What was found: how many calls, how many in a second, and the seconds that each took.
          Found = Struct.new(:calls, :rate, :latencies)

          # @param client [RPC::Client]
          # @param method [String]
          # @param arguments [Array]
          # @param seconds [Numeric]
          def initialize(client, method, arguments, seconds)
            @client = client
            @method = method
            @arguments = arguments
            @seconds = seconds
          end

          # @param count [Integer] threads that call, each one after another
          # @return [Found]
          def by_threads(count)
            measured { |deadline| Array.new(count) { Thread.new { one_by_one(deadline) } }.flat_map { |one| quiet(one).value } }
          end

          # @param count [Integer] calls under way
          # @return [Found]
          def in_flight(count) = measured { |deadline| many(count, deadline) }

          private

          def measured
            yield Deadline.after(WARM_UP)
            began = Deadline.now
            times = yield Deadline.after(@seconds)
            Found.new(times.size, times.size / (Deadline.now - began), Plait::Lab::Statistics.new(times))
          end

          # What it raises is raised by who waits for it.
          def quiet(thread) = thread.tap { thread.report_on_exception = false }

          def one_by_one(deadline)
            times = []
            loop do
              began = Deadline.now
              @client.call(@method, *@arguments)
              times << (Deadline.now - began)
              return times if deadline.expired?
            end
          end

          def many(count, deadline)
            under_way = Array.new(count) { begin_call }
            times = []
            until under_way.empty?
              future, began = under_way.shift
              future.value
              times << (Deadline.now - began)
              under_way << begin_call unless deadline.expired?
            end
            times
          end

          def begin_call
            began = Deadline.now
            [@client.call_async(@method, *@arguments), began]
          end
        end
      end
    end
  end
end
