# frozen_string_literal: true

require_relative "redis"
require "plait/mechanisms/mechanism"
require "plait/mechanisms/time_limit"
require "plait/values/deadline"

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
        # @param deadline [Deadline, nil] there is a tick at this moment, whatever Redis does
        # @return [Courier] at work
        def initialize(channel, deadline)
          @channel = channel
          @news = Thread::Queue.new
          @beaten = @heard = Deadline.now
          @alarm = start { ring(deadline) } if deadline
          @thread = start { carry }
        end

        # @return [Array, :tick, StandardError, nil] waits for it; nil: there will be none
        def take = @news.pop

        def any? = !@news.empty?

        # @param seconds [Float, nil] that a silent Redis may hold it up; then the thread ends by itself
        # @return [void]
        def stop(seconds = nil)
          @over = true
          @alarm&.kill&.join
          knock(seconds)
          @thread.join(seconds)
        end

        private

        # A thread inherits what its caller holds back: a kill would wait for the end of the alarm.
        def start(&) = Thread.new { Thread.handle_interrupt(Object => :immediate, &) }

        def knock(seconds)
          seconds ? TimeLimit.enforce(seconds) { @channel.knock } : @channel.knock
        rescue StandardError
          nil # Redis is away: the thread sees that it is over
        end

        # Also while Redis is silent.
        def ring(deadline)
          sleep(deadline.remaining)
          @news << :tick
        rescue ClosedQueueError
          nil
        end

        def carry
          listen until @over
        rescue StandardError => e
          @news << e
        ensure
          @news.close
        end

        def listen
          @channel.listen(TICK).each { |news| @news << news }
          @heard = Deadline.now
          beat if @heard > @beaten + BEAT || @channel.heavy?
          @news << :tick if @news.empty? # who has news looks then
        rescue ::RedisClient::Error => e
          raise if Deadline.now > @heard + OUTAGE || !Redis.passing?(e)

          sleep(Redis::PAUSE)
        end

        def beat
          @channel.beat
          @beaten = Deadline.now
        end
      end
    end
  end
end
