# frozen_string_literal: true

require "sidekiq"
require "sidekiq/component"
require_relative "channel"
require_relative "overseer"
require_relative "plain"
require_relative "redis"
require "plait/mechanisms/attempt"
require "plait/mechanisms/interruption"
require "plait/mechanisms/mechanism"
require "plait/mechanisms/options"
require "plait/values/errors"
require "plait/values/job"
require "plait/values/outcome"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # In Sidekiq's process: runs one item, and tells what came of it. The retries are Plait's own.
      class Errand
        include ::Sidekiq::Job
        include ::Sidekiq::Component

        sidekiq_options retry: false

        # Seconds for which an answer is tried to be told while Redis is away, or full. Sidekiq can give no signs of life then
        # either, and takes this process for dead before: so the caller hears of it in one way or the other.
        OUTAGE = 2 * Channel::LIFE

        # What a thread of Sidekiq's is one of, while it runs a job of ours.
        CAPSULE = :@plait_sidekiq_capsule
        private_constant :CAPSULE

        class << self
          # @return [Array<String>] the queues from which who runs this job takes others, too; none outside of one
          def queues_here = Thread.current.instance_variable_get(CAPSULE)&.queues || []

          # @return [Object] what the block returns
          def in_capsule(capsule)
            before = Thread.current.instance_variable_get(CAPSULE)
            Thread.current.instance_variable_set(CAPSULE, capsule)
            yield
          ensure
            Thread.current.instance_variable_set(CAPSULE, before)
          end

          # @param retries [Retries]
          # @return [Hash{String => Object}]
          # @raise [UnmarshalableError] for what other processes can't know
          def words_of(retries)
            words = retries.to_h.transform_keys(&:to_s).transform_values { |value| Plain.number(value) }
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
          @channel = Channel.new(config.redis_pool, order["run"])
          run(order) if Redis.patiently(OUTAGE) { @channel.wanted?(order["copy"]) }
        end

        private

        def config = ::Sidekiq.default_configuration

        def run(order)
          Overseer.over(@channel) { |work| tell_outcome(work.call { attempt(order) }) }
          left = true
        rescue Interruption
          left = true
          tell(["ended", @index])
        rescue Exception # rubocop:disable Lint/RescueException -- whatever it is, it does not end the thread
          left = true
          raise
        ensure
          tell(["died", @index, identity]) unless left || process_ends?
        end

        # Then Sidekiq has put the job back already.
        def process_ends? = !Thread.main.alive?

        # What goes wrong before the job begins has to be told, too: its class may raise when it is loaded, say.
        def attempt(order)
          options = Options.new(timeout: order["timeout"], retries: self.class.retries_of(order["retries"]))
          attempt = Attempt.new(Job.find(order["job"]), options)
          self.class.in_capsule(Thread.current[:sidekiq_capsule]) do
            attempt.call(@index, order["item"], identity, made: order["made"]) do |number, running|
              tell(["begun", @index, identity, number]) if running
            end
          end
        rescue StandardError, ScriptError => e
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
        def tell(news) = Redis.patiently(OUTAGE) { @channel.tell(news) }
      end
    end
  end
end
