# frozen_string_literal: true

require_relative "mechanism"
require_relative "../values/errors"
require_relative "../values/job"

module Plait
  module Mechanisms
    # Many machines, by Sidekiq and its Redis: each item is a job there, run by whichever process takes it, and its result comes
    # back by Redis. Items and results are plain data, as JSON has it; what runs them is a {Job}, which has a name.
    #
    # An item is run at most once, unless there are retries, or Sidekiq puts it back because its process had to end in the middle.
    # When a process is killed, its items are reported as {WorkerDied} (or run again) as soon as Sidekiq takes it for dead, after
    # a minute.
    class Sidekiq < Mechanism
      # Items in flight, where nothing is said: what no process takes yet waits in Redis.
      LIMIT = 100
      # The first that runs on redis-client.
      OLDEST = "7.0"

      # They need the gem. Sidekiq finds the errands by their name.
      autoload :Errand, File.expand_path("sidekiq/errand", __dir__)
      autoload :Run, File.expand_path("sidekiq/run", __dir__)

      # @param patience [Watchman::Patience, nil] nil: the usual one
      def initialize(patience: nil)
        super()
        @patience = patience
      end

      def default_limit = LIMIT

      def unavailable
        require "sidekiq"
        "of the gem sidekiq #{OLDEST} or newer is needed, here is #{::Sidekiq::VERSION}" if too_old?
      rescue LoadError
        "it needs the gem sidekiq: add it to the Gemfile (gem \"sidekiq\")"
      end

      # @raise [UsageError] for a block without a name
      # @raise [ConnectionError] when Redis can't be reached
      def executor(attempt, limit:)
        raise UsageError, nameless unless attempt.body.is_a?(Job)

        Run.new(attempt.body, attempt.policy, limit, **{ patience: @patience }.compact)
      end

      def scope(**)
        raise UnsupportedError, "Plait.run runs blocks, which can't travel to other machines: on: :sidekiq is for Plait.map, " \
                                "each_result and first, with a job"
      end

      private

      def too_old? = Gem::Version.new(::Sidekiq::VERSION) < Gem::Version.new(OLDEST)

      def nameless
        "on: :sidekiq runs jobs, which have a name by which other machines find them, and no blocks: make a class with " \
          "call(item), and pass it by &Plait.job(ThatClass)"
      end
    end
  end
end
