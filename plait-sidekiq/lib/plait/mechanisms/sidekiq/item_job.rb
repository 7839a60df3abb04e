# frozen_string_literal: true

require "sidekiq"
require "sidekiq/component"
require_relative "channel"
require_relative "plain"
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
      # In Sidekiq's process: ends items whose run is over. One thread watches all items, and ends with the last one.
      class Canceller
        # Seconds between two checks.
        LOOK = 1.0

        class << self
          # @yieldparam work [#call] runs its block, which an {Interruption} may end; outside of it none comes
          # @return [Object] the block's value
          # @raise [Interruption] it was ended
          def over(channel, &block) = (@instance ||= new).over(channel, &block)
        end

        def initialize
          @lock = Thread::Mutex.new
          @channels = {}.compare_by_identity
        end

        # @see .over
        def over(channel)
          Thread.handle_interrupt(Interruption => :never) do
            yield ->(&work) { watched(channel) { Thread.handle_interrupt(Interruption => :immediate, &work) } }
          end
        end

        private

        def watched(channel)
          thread = Thread.current
          @lock.synchronize do
            @channels[thread] = channel
            @thread = Thread.new { look_on } unless @thread&.alive?
          end
          yield
        ensure
          @lock.synchronize { @channels.delete(thread) }
          swallow
        end

        # Ends an interruption that came after the work.
        def swallow
          Thread.handle_interrupt(Interruption => :immediate) { Thread.pass }
        rescue Interruption
          nil
        end

        def look_on
          while watching?
            sleep(LOOK)
            end_unwanted
          end
        end

        def watching? = @lock.synchronize { @channels.any? || (@thread = nil) }

        def end_unwanted
          over = @lock.synchronize { @channels.values }.uniq(&:id).reject(&:wanted?).map(&:id)
          @lock.synchronize do
            @channels.each { |thread, channel| thread.raise(Interruption.new) if over.include?(channel.id) }
            @channels.delete_if { |_, channel| over.include?(channel.id) }
          end
        rescue StandardError
          nil # Redis is unreachable, or all connections are in use: the next check follows
        end
      end

      # In Sidekiq's process: runs one item with Plait's own retries, and sends its outcome.
      class ItemJob
        include ::Sidekiq::Job
        include ::Sidekiq::Component

        sidekiq_options retry: false

        # Seconds to send an answer while Redis is unreachable, or full. Sidekiq counts this process as dead before that, so the
        # caller gets an answer or a {WorkerDied}.
        OUTAGE = 2 * Channel::LIFE

        # The thread's variable with its capsule of Sidekiq, during a job of Plait.
        CAPSULE = :@plait_sidekiq_capsule
        private_constant :CAPSULE

        class << self
          # @return [Array<String>] the queues of the process that runs this job; none outside of a job
          def queues_here = Thread.current.instance_variable_get(CAPSULE)&.queues || []

          # @return [Object] the block's value
          def in_capsule(capsule)
            before = Thread.current.instance_variable_get(CAPSULE)
            Thread.current.instance_variable_set(CAPSULE, capsule)
            yield
          ensure
            Thread.current.instance_variable_set(CAPSULE, before)
          end

          # @return [Hash{String => Object}]
          # @raise [UnmarshalableError] a value can't travel to other processes
          def words_of(retries)
            words = retries.to_h.transform_keys(&:to_s).transform_values { |value| Plain.number(value) }
            words["on"] = words["on"].map { |kind| kind.name || kind }
            Plain.check(words, "retries:")
          end

          # @param words [Hash{String => Object}]
          # @return [Hash, nil] for `retries:`, without classes of errors that this process has not loaded
          def retries_of(words)
            known = words["on"].select { |name| Object.const_defined?(name) }
            words.transform_keys(&:to_sym).merge(on: known.map { |name| Object.const_get(name) }) if known.any?
          end
        end

        # @param order [Hash{String => Object}] see {Run}
        def perform(order)
          @index = order["index"]
          @channel = Channel.new(config.redis_pool, order["run"])
          run(order) if Redis.patiently(OUTAGE) { @channel.wanted?(order["copy"]) }
        end

        private

        def config = ::Sidekiq.default_configuration

        def run(order)
          Canceller.over(@channel) { |work| send_outcome(work.call { attempt(order) }) }
          left = true
        rescue Interruption
          left = true
          report(["ended", @index])
        rescue Exception # rubocop:disable Lint/RescueException -- no error of a job ends the thread
          left = true
          raise
        ensure
          report(["died", @index, identity]) unless left || process_ends?
        end

        # @return [Boolean] whether Sidekiq has put the job back already
        def process_ends? = !Thread.main.alive?

        # An error before the start of the job is an answer, too: loading its class may raise one.
        def attempt(order)
          options = Options.new(timeout: order["timeout"], retries: self.class.retries_of(order["retries"]))
          attempt = Attempt.new(Job.find(order["job"]), options)
          self.class.in_capsule(Thread.current[:sidekiq_capsule]) do
            attempt.call(@index, order["item"], identity, made: order["made"]) do |number, running|
              report(["started", @index, identity, number]) if running
            end
          end
        rescue StandardError, ScriptError => e
          Outcome.new(index: @index, item: order["item"], error: e, attempts: 0)
        end

        def send_outcome(outcome)
          return give_back(outcome.error) if outcome.error.is_a?(::Sidekiq::Shutdown)

          outcome.ok? ? send_value(outcome) : send_error(outcome, outcome.error)
        end

        # The process ends before the job: Sidekiq has put it back into its queue, and then raised this error.
        def give_back(shutdown)
          report(["returned", @index, identity])
          raise shutdown
        end

        def send_value(outcome)
          report(["done", @index, facts(outcome), Plain.check(outcome.value, "the result")])
        rescue UnmarshalableError, ::RedisClient::CommandError => e
          send_error(outcome, e)
        end

        def send_error(outcome, error) = report(["failed", @index, facts(outcome), Plain.of_error(error)])

        def facts(outcome) = [identity, outcome.attempts, outcome.duration || 0.0]

        def report(message) = Redis.patiently(OUTAGE) { @channel.report(message) }
      end
      private_constant :Canceller
    end
  end
end
