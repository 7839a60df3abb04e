# frozen_string_literal: true

module Bench
  module Core
    # The loops that people write by hand, without a thought for errors, order of arrival or memory: what a mechanism's
    # overhead is measured against. All take the items, how many may be under way at once, and the body; all return the
    # results in input order.
    module ByHand
      module_function

      def sequence(items, _limit, &body) = items.map(&body)

      def threads(items, limit, &body)
        queue = Queue.new
        items.each_with_index { |item, index| queue << [item, index] }
        queue.close
        results = Array.new(items.size)
        Array.new(limit) { Thread.new { drain(queue, results, &body) } }.each(&:join)
        results
      end

      # Under Plait's scheduler, so that what is compared is what lies above it.
      def fibers(items, limit, &body)
        pairs = items.each_with_index.to_a
        results = Array.new(items.size)
        Thread.new do
          Fiber.set_scheduler(Plait::Scheduler.new)
          limit.times { Fiber.schedule { drain(pairs, results, &body) } }
        end.join
        results
      end

      # A body that only waits needs no thread of the pool: the fibers alone would do.
      def hybrid(...) = fibers(...)

      def processes(items, limit, &body)
        halves(items, limit).map { |slice| fork_for(slice, &body) }.flat_map { |pid, pipe| collect(pid, pipe) }
      end

      def ractors(items, limit, &body)
        shared = Ractor.make_shareable(body)
        halves(items, limit).map do |slice|
          Ractor.new(slice, shared) { |own, block| own.map { |item| block.call(item) } }
        end.flat_map(&:take)
      end

      def drain(source, results)
        while (item, index = source.shift)
          results[index] = yield(item)
        end
      end

      def halves(items, limit) = items.each_slice((items.size / limit.to_f).ceil).to_a

      def fork_for(slice, &body)
        reader, writer = IO.pipe(binmode: true)
        pid = Process.fork do
          reader.close
          Marshal.dump(slice.map(&body), writer)
          writer.close
          exit!(0)
        end
        writer.close
        [pid, reader]
      end

      def collect(pid, pipe)
        results = Marshal.load(pipe)
        pipe.close
        Process.wait(pid)
        results
      end
    end
  end
end
