# frozen_string_literal: true

require "sidekiq"
require "sidekiq/component"
require_relative "channel"
require_relative "overseer"
require_relative "plain"
require_relative "../attempt"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "../options"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "../../values/job"
require_relative "../../values/outcome"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # In Sidekiq's process: runs one item, and tells what came of it. The retries are Plait's own.
      class Errand
        include ::Sidekiq::Job
        include ::Sidekiq::Component

        sidekiq_options retry: false

        # Seconds for which an answer is tried to be told while Redis is away, and between two attempts.
        OUTAGE = Channel::LIFE
        PAUSE = 0.5

        class << self
          # @param retries [Retries]
          # @return [Hash{String => Object}]
          # @raise [UnmarshalableError] for what other processes can't know
          def words_of(retries)
            words = retries.to_h.transform_keys(&:to_s)
            words["on"] = words["on"].map { |kind| kind.name || kind }
            Plain.check(words, "retries:")
          end

          # @param words [Hash{String => Object}]
          # @return [Hash, nil] for `retries:`; errors that this process does not know can't be raised in it
          def retries_of(words)
            known = words["on"].select { |name| Object.const_defined?(name) }
            words.transform_keys(&:to_sym).merge(on: known.map { |name| Object.const_get(name) }) if known.any?
          end
        end

        # @param order [Hash{String => Object}] see {Run}
        # @return [void]
        def perform(order)
          @index = order["index"]
          @channel = Channel.new(::Sidekiq.default_configuration.redis_pool, order["run"])
          return unless @channel.wanted?

          Overseer.over(@channel) { |work| tell_outcome(work.call { attempt(order) }) }
        rescue Interruption
          tell(["ended", @index])
        end

        private

        def config = ::Sidekiq.default_configuration

        def attempt(order)
          options = Options.new(timeout: order["timeout"], retries: self.class.retries_of(order["retries"]))
          attempt = Attempt.new(Job.find(order["job"]), options)
          attempt.call(@index, order["item"], identity, made: order["made"]) do |number, running|
            tell(["begun", @index, identity, number]) if running
          end
        rescue UsageError => e
          Outcome.new(index: @index, item: order["item"], error: e, attempts: 0)
        end

        def tell_outcome(outcome)
          return give_back(outcome.error) if outcome.error.is_a?(::Sidekiq::Shutdown)

          outcome.ok? ? tell_value(outcome) : tell_error(outcome, outcome.error)
        end

        # The process ends before the job does: Sidekiq has put it back into its queue, and then raised this.
        def give_back(shutdown)
          tell(["returned", @index, identity])
          raise shutdown
        end

        def tell_value(outcome)
          tell(["done", @index, facts(outcome), Plain.check(outcome.value, "the result")])
        rescue UnmarshalableError, ::RedisClient::CommandError => e
          tell_error(outcome, e)
        end

        def tell_error(outcome, error) = tell(["failed", @index, facts(outcome), Plain.of_error(error)])

        def facts(outcome) = [identity, outcome.attempts, outcome.duration || 0.0]

        # Somebody waits for it.
        def tell(news)
          give_up = Deadline.after(OUTAGE)
          begin
            @channel.tell(news)
          rescue ::RedisClient::ConnectionError
            raise if give_up.expired?

            sleep(PAUSE)
            retry
          end
        end
      end
    end
  end
end
