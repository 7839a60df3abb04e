# frozen_string_literal: true

require "plait/mechanisms/interruption"
require "plait/mechanisms/mechanism"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # In Sidekiq's process: ends items whose run is over. One thread looks after all of them, as long as there are any.
      class Overseer
        # Seconds between two looks.
        LOOK = 1.0

        class << self
          # @param channel [Channel]
          # @yieldparam work [#call] runs its block, which may be ended; what is outside of it is not
          # @return [Object] what the block returns
          # @raise [Interruption] when it was ended
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

        # What has come when the work was done already.
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
          nil # Redis is away, or all connections are in use: the next look will tell
        end
      end
    end
  end
end
