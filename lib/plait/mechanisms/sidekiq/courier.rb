# frozen_string_literal: true

require_relative "redis"
require_relative "../mechanism"
require_relative "../../values/deadline"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # Waits for the news of a run, in a thread of its own: its caller waits at a queue, so that Ctrl-C, timeouts and event loops
      # reach it. Gives the signs of life, too.
      class Courier
        # Seconds between two ticks, at which the caller looks after what nobody tells.
        TICK = 1.0
        # Seconds between two signs of life.
        BEAT = 10
        # Seconds for which Redis may be away.
        OUTAGE = 30

        # @param channel [Channel]
        # @param deadline [Deadline, nil] at which there is a tick in any case
        # @return [Courier] at work
        def initialize(channel, deadline)
          @channel = channel
          @deadline = deadline
          @news = Thread::Queue.new
          @beaten = @heard = Deadline.now
          @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { carry } } # whatever its caller holds back
        end

        # @return [Array, :tick, StandardError, nil] waits for it; nil: there will be none
        def take = @news.pop

        def any? = !@news.empty?

        # @return [void]
        def stop
          @over = true
          @channel.knock
        rescue StandardError
          nil # Redis is away: it sees that it is over
        ensure
          @thread.join
        end

        private

        def carry
          listen until @over
        rescue StandardError => e
          @news << e
        ensure
          @news.close
        end

        def listen
          @channel.listen(patience).each { |news| @news << news }
          @heard = Deadline.now
          beat if @heard > @beaten + BEAT || @channel.heavy?
          @news << :tick if @news.empty? # who has news looks then
        rescue ::RedisClient::Error => e
          raise if Deadline.now > @heard + OUTAGE || !Redis.passing?(e)

          sleep(Redis::PAUSE)
        end

        def patience
          left = @deadline&.remaining
          left&.positive? ? [TICK, left].min : TICK
        end

        def beat
          @channel.beat
          @beaten = Deadline.now
        end
      end
    end
  end
end
