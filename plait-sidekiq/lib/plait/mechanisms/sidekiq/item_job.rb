# frozen_string_literal: true

require "sidekiq"
require "sidekiq/component"
require_relative "channel"
require_relative "plain"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # In Sidekiq's process: shows callers that it lives, by a connection to Redis that lasts as long as the process does. It
      # also ends items whose run is over. One thread watches all items, and ends with the last one.
      class Presence
        # Seconds between two looks.
        LOOK = 1.0
        # Runs of which is remembered that they know this process, and its former connections.
        RUNS = 1000
        NUMBERS = 100

        # The number by which an item is known to be reserved; nil before the first look.
        Watched = Struct.new(:channel, :copy, :number)

        @lock = Thread::Mutex.new

        class << self
          # @return [Presence] of this process
          def here
            return @here if @here && !@here.forked?

            @lock.synchronize { @here = new if @here.nil? || @here.forked? }
            @here
          end
        end

        include ::Sidekiq::Component

        def initialize
          @generation = Native.fork_generation
          @lock = Thread::Mutex.new
          @connection = Redis.pool(1)
          @random_part = Channel.random_part
          @former = []
          @items = {}.compare_by_identity
          @runs = {}
        end

        def forked? = Native.fork_generation != @generation

        # @return [Boolean] whether this process is the one that runs the copy
        def reserve(channel, copy) = channel.reserve(copy, number_for(channel), @former)

        # @yieldparam work [#call] runs its block, which an {Interruption} may end; outside of it none comes
        # @return [Object] the block's value
        # @raise [Interruption] it was ended
        def over(channel, copy)
          Thread.handle_interrupt(Interruption => :never) do
            yield ->(&work) { watched(channel, copy) { Thread.handle_interrupt(Interruption => :immediate, &work) } }
          end
        end

        # Closes the connection. Items that ended here without an answer count as lost; living ones are reserved again.
        def part
          forget_number
          @connection.with(timeout: Channel::LIFE, &:close)
        end

        private

        # @return [Integer] of this process; the run knows its identity
        def number_for(channel)
          number = (@number ||= @random_part + @connection.with { |redis| redis.call("CLIENT", "ID") })
          introduce(channel, number)
          number
        end

        def forget_number
          @former = [*@former, *@number].last(NUMBERS)
          @number = nil
        end

        def introduce(channel, number)
          return if @runs[channel.id] == number

          channel.report(["process", number, identity])
          @lock.synchronize do
            @runs.shift if @runs.size >= RUNS
            @runs[channel.id] = number
          end
        end

        def watched(channel, copy)
          thread = Thread.current
          @lock.synchronize do
            @items[thread] = Watched.new(channel, copy)
            @thread = Thread.new { look_on } unless @thread&.alive?
          end
          yield
        ensure
          @lock.synchronize { @items.delete(thread) }
          swallow
        end

        # Ends an interruption that came after the work. (To pass without one costs a tenth of a quick item.)
        def swallow
          return unless Thread.pending_interrupt?

          Thread.handle_interrupt(Interruption => :immediate) { Thread.pass }
        rescue Interruption
          nil
        end

        def look_on
          while watching?
            sleep(LOOK)
            look
          end
        end

        def watching? = @lock.synchronize { @items.any? || (@thread = nil) }

        # The question keeps the connection open, and shows whether it is still the same one.
        def look
          channels = living.map(&:channel).uniq(&:id)
          connection, *wanted = Redis.patiently(LOOK) { ask_about(channels) }
          renew(@random_part + connection)
          end_runs(channels.zip(wanted).filter_map { |channel, there| channel.id if there.zero? })
        rescue StandardError
          nil # Redis is unreachable, or all connections are in use: the next look follows
        end

        def living = @lock.synchronize { @items.values }

        def ask_about(channels)
          @connection.with do |redis|
            redis.pipelined do |pipeline|
              pipeline.call("CLIENT", "ID")
              channels.each { |channel| pipeline.call("EXISTS", channel.key) }
            end
          end
        end

        # The connection was cut, and its former number counts as dead soon. An item may have been reserved by that one just now.
        def renew(number)
          living.reject { |item| item.number == number }.group_by { |item| item.channel.id }.each_value do |items|
            channel = items.first.channel
            introduce(channel, number)
            channel.reserve_again(items.map(&:copy), number)
            items.each { |item| item.number = number }
          end
          forget_number unless number == @number
          @number = number
        end

        def end_runs(ids)
          @lock.synchronize do
            @items.each { |thread, item| thread.raise(Interruption.new) if ids.include?(item.channel.id) }
            @items.delete_if { |_, item| ids.include?(item.channel.id) }
          end
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

          # @param order [Hash{String => Object}] of an item; all items of a run share these words
          # @return [Options]
          def options_of(order)
            run, options = @last
            return options if run == order["run"]

            options = Options.new(timeout: order["timeout"], retries: retries_of(order["retries"]) || 0)
            @last = [order["run"], options].freeze
            options
          end

          # @param words [Hash{String => Object}, nil]
          # @return [Hash, nil] for `retries:`, without classes of errors that this process has not loaded
          def retries_of(words)
            return unless words

            known = words["on"].select { |name| Object.const_defined?(name) }
            words.transform_keys(&:to_sym).merge(on: known.map { |name| Object.const_get(name) }) if known.any?
          end
        end

        # @param order [Hash{String => Object}] see {Run}
        def perform(order)
          @index, @copy, run = order.values_at("index", "copy", "run")
          @channel = Channel.new(config.redis_pool, run)
          run(order) if Redis.patiently(OUTAGE) { Presence.here.reserve(@channel, @copy) }
        end

        private

        def config = ::Sidekiq.default_configuration

        def run(order)
          Presence.here.over(@channel, @copy) { |work| send_outcome(work.call { attempt(order) }) }
          left = true
        rescue Interruption
          report(["ended", @index, @copy])
          left = true
        rescue ::Sidekiq::Shutdown
          left = true
          raise
        ensure
          give_up unless left || process_ends?
        end

        # The thread was ended, or its answer can't be sent: the caller must not wait for it.
        def give_up
          report(["died", @index, @copy, identity])
        rescue StandardError
          Presence.here.part
        end

        # @return [Boolean] whether Sidekiq has put the job back already
        def process_ends? = !Thread.main.alive?

        # An error before the start of the job is an answer, too: loading its class may raise one.
        def attempt(order)
          attempt = Attempt.new(Job.find(order["job"]), self.class.options_of(order))
          self.class.in_capsule(Thread.current[:sidekiq_capsule]) do
            attempt.call(@index, order["item"], identity, made: order["made"]) do |number, running|
              report(["attempt", @index, number]) if running && number > order["made"] + 1
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
          report(["returned", @index, @copy])
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
      private_constant :Presence
    end
  end
end
