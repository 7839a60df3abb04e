# frozen_string_literal: true

require_relative "../lock"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      # Runs a request where it is taken up: in the worker.
      class Runner
        # @return [Handler]
        attr_reader :handler

        # @param handler [Handler]
        def initialize(handler)
          @handler = handler
        end

        # @return [Callable, nil]
        def find(name) = @handler.find(name)

        # @return [void]
        def run(incoming, callable) = @handler.run(incoming, callable, flush: false)

        # Runs it in the worker's fiber as long as its method waits there. One that held the loop for long without a single wait
        # gains nothing from a fiber and costs all the others: after two such runs in a row it is run on the thread pool.
        class Hybrid < Runner
          # Seconds without a wait from which a run counts as blocking.
          BLOCKING = 0.01
          ENOUGH = 2

          def initialize(handler)
            super
            @in_a_row = Hash.new(0)
          end

          def run(incoming, callable)
            return Plait.offload { super } if @in_a_row[incoming.method_name] >= ENOUGH

            before = ticks
            began = Deadline.now
            super
            judge(incoming.method_name, Deadline.now - began, ticks == before) if callable && before
          end

          private

          # @return [Integer, nil] what grows with each wait on a loop of Plait's
          def ticks
            scheduler = Lock.scheduler
            scheduler.ticks if scheduler.respond_to?(:ticks)
          end

          def judge(name, seconds, never_waited)
            never_waited && seconds > BLOCKING ? @in_a_row[name] += 1 : @in_a_row.delete(name)
          end
        end
      end
    end
  end
end
