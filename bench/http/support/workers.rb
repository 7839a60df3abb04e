# frozen_string_literal: true

module Bench
  module HTTP
    # The loop that people write around a blocking client: so many workers, each with a session of its own, take the next
    # request until none is left.
    module Workers
      module_function

      # @param on [Symbol] :sequence, :threads or :fibers; fibers run under Plait's scheduler, so that what is compared
      #   is the client
      # @param limit [Integer] workers
      # @param requests [Array]
      # @yieldreturn [#get, #close] the session of one worker
      # @return [Array] what the sessions got, in the order of the requests
      def map(on, limit, requests, &open)
        jobs = Queue.new(requests.each_index.to_a).close
        results = Array.new(requests.size)
        send(on, [limit, requests.size].min) { work(open.call, jobs, requests, results) }
        results
      end

      def sequence(_workers) = yield

      def threads(workers, &work) = Array.new(workers) { Thread.new(&work) }.each(&:join)

      def fibers(workers, &work) = Plait.run(on: :fibers) { |scope| workers.times { scope.async(&work) } }

      def work(session, jobs, requests, results)
        while (index = jobs.pop)
          results[index] = session.get(requests[index])
        end
      ensure
        session.close
      end
      private_class_method :sequence, :threads, :fibers, :work
    end
  end
end
