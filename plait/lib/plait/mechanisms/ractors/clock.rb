# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # Time limits inside a ractor, one thread for all of them. The `timeout` library keeps its thread in a constant,
      # which only the main ractor may see (Ruby 3.3: IsolationError); the one of Ruby 3.1 starts a thread for each call.
      class Clock
        # Raised in the body; the token tells nested limits apart.
        class Expired < Interruption; end

        Alarm = Struct.new(:at, :thread, :token, :rung)
        NEVER = Float::INFINITY

        # @return [Clock] the one of the ractor that asks
        def self.current = ::Ractor.current[:plait_clock] ||= new

        def initialize
          @lock = Thread::Mutex.new
          @changed = Thread::ConditionVariable.new
          @alarms = []
          @wakes_at = NEVER
        end

        # @raise [ThreadError] when the system gives no thread
        def prepare = @lock.synchronize { @thread ||= Thread.new { watch } }

        # @param seconds [Numeric]
        # @param error [Class<TimeoutError>]
        # @return [Object] what the block returns
        # @raise [TimeoutError] of the given class
        def enforce(seconds, error = TimeoutError, &block)
          token = Deadline.overrun(seconds)
          raise error, token unless seconds.positive?

          alarm = Alarm.new(Deadline.now + seconds, Thread.current, token)
          Thread.handle_interrupt(Interruption => :never) { run(alarm, &block) }
        rescue Expired => e
          raise unless e.message.equal?(token)

          raise e.instead || error, e.instead&.message || token, e.backtrace
        end

        private

        def run(alarm, &block)
          prepare
          set(alarm)
          Thread.handle_interrupt(Interruption => :immediate, &block)
        ensure
          remove(alarm)
        end

        # Wakes the thread only for an alarm before the one it sleeps towards: with one limit for all items that is once
        # per limit, not once per item.
        def set(alarm)
          @lock.synchronize do
            @alarms << alarm
            @changed.signal if alarm.at < @wakes_at
          end
        end

        # An alarm that rang at the last moment must go off here, not in the item that comes next.
        def remove(alarm)
          @lock.synchronize { @alarms.delete(alarm) { nil } }
          Thread.handle_interrupt(Expired => :immediate) { Thread.pass } if alarm.rung
        end

        def watch
          @lock.synchronize do
            loop do
              ring
              @wakes_at = @alarms.map(&:at).min || NEVER
              @changed.wait(@lock, @wakes_at == NEVER ? nil : [@wakes_at - Deadline.now, 0].max)
            end
          end
        end

        def ring
          due, @alarms = @alarms.partition { |alarm| alarm.at <= Deadline.now }
          due.each do |alarm|
            alarm.rung = true
            alarm.thread.raise(Expired, alarm.token)
          end
        end
      end
    end
  end
end
