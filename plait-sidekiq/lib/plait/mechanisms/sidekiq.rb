# frozen_string_literal: true

require "json"
require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait::Mechanisms.autoload(:Sidekiq, __FILE__) if Plait::Mechanisms.autoload?(:Sidekiq)

module Plait
  module Mechanisms
    # Named before its parts are loaded: each of them opens it.
    class Sidekiq < Mechanism; end
  end
end

require "plait/mechanisms/sequence"
require_relative "sidekiq/plain"

module Plait
  module Mechanisms
    # Many machines, by Sidekiq and its Redis: each item is a job there. Any process of Sidekiq takes it, and its result comes
    # back by Redis. Items and results are plain data, as in JSON; a {Job}, which has a name, runs them.
    #
    # An item runs at most once, unless there are retries, or Sidekiq puts it back because its process had to end in the middle.
    # The items of a killed process are reported as {WorkerDied} (or run again) when Redis has lost its connection, within
    # seconds.
    class Sidekiq < Mechanism
      # Items in flight by default; items that no process has taken yet wait in Redis.
      LIMIT = 100
      # The first version on redis-client.
      OLDEST = "7.0"

      # These files need the gem. Sidekiq finds the job by its name.
      autoload :ItemJob, File.expand_path("sidekiq/item_job", __dir__)
      autoload :Run, File.expand_path("sidekiq/run", __dir__)

      # @param patience [LossDetector::Patience, nil] nil: the default
      def initialize(patience: nil)
        super()
        @patience = patience
      end

      def default_limit = LIMIT

      def jobs_only? = true

      def unavailable
        require "sidekiq"
        "of the gem sidekiq #{OLDEST} or newer is needed, here is #{::Sidekiq::VERSION}" if too_old?
      rescue LoadError => e
        "it needs the gem sidekiq: add it to the Gemfile (gem \"sidekiq\"; #{e.message})"
      end

      # @raise [UsageError] for a block without a name, or where the jobs would wait for their own process
      # @raise [ConnectionError] when Redis can't be reached
      def executor(attempt, limit:)
        raise UsageError, nameless unless attempt.body.is_a?(Job)
        raise UsageError, nested(attempt.body) if ItemJob.queues_here.include?(attempt.body.queue)
        return in_tests(attempt) if defined?(::Sidekiq::Testing) && ::Sidekiq::Testing.enabled?

        Run.new(attempt.body, attempt.policy, limit, **{ patience: @patience }.compact)
      end

      def scope(**)
        raise UnsupportedError, "Plait.run runs blocks, which can't travel to other machines: on: :sidekiq is for Plait.map, " \
                                "each_result and first, with a job"
      end

      private

      def too_old? = Gem::Version.new(::Sidekiq::VERSION) < Gem::Version.new(OLDEST)

      # Sidekiq::Testing.inline! runs each job at once, without a Redis. Items and results still become JSON and back, so a test
      # finds values that can't travel.
      def in_tests(attempt)
        body = ->(item) { travel(attempt.body.call(travel(item, "the item")), "the result") }
        return Sequence.new.executor(Attempt.new(body, attempt.policy)) if ::Sidekiq::Testing.inline?

        raise UsageError, "Sidekiq::Testing.fake! runs no job, and this call waits for results: " \
                          "call inline! in this test, or disable!, with a Redis and a process of Sidekiq"
      end

      def travel(value, name) = JSON.parse(JSON.generate([Plain.check(value, name)])).first

      def nested(job)
        "a job of on: :sidekiq waits for jobs in the queue #{job.queue.inspect}, from which its own process takes: " \
          "when all threads of that process do so, they wait without end. Give the inner jobs a queue of their own, as in " \
          "Plait.job(#{job.name}, queue: \"inner\"), from which other processes take"
      end

      def nameless
        "on: :sidekiq runs jobs, which have a name by which other machines find them, and no blocks: make a class with " \
          "call(item), and pass it by &Plait.job(ThatClass)"
      end
    end

    register(Sidekiq.new)
  end
end
