# frozen_string_literal: true

require_relative "../../values/uninterruptible"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Auto < Mechanism
      # Where workers of all kinds put outcomes. Who waits for one is woken now and then, to see that none comes.
      class Mailbox < Thread::Queue
        CLOSED = :closed
        TICK = :tick
        # Seconds until the first look, and at most: it takes twice as long each time.
        TICKS = (0.005..0.2)
        LIMITED = RUBY_VERSION >= "3.2"

        # @param remains [Array<#call>] gets what ends its thread
        def initialize(remains)
          super()
          @remains = remains
          @pause = TICKS.begin
        end

        # Called by an event loop that has ended.
        def close = self << CLOSED

        # @param ticking [Boolean] whether to return by and by
        # @return [Outcome, Exception, Symbol]
        def take(ticking)
          return pop unless ticking && empty?
          return pop(timeout: longer) || TICK if LIMITED

          order unless @ordered
          message = pop
          @ordered = false if message == TICK
          message
        end

        # No more ticks come.
        def settle
          return unless @ticker

          @ticker.kill
          @ticker.join
          @ticker = nil
        end

        # Before Ruby 3.2 a queue has no time limit.
        # @param orders [Thread::Queue] of seconds
        # @return [Thread]
        def self.ticker(orders, mailbox)
          Thread.new do
            Thread.handle_interrupt(Object => :immediate) do # a thread inherits the mask of the thread that starts it
              while (seconds = orders.pop)
                sleep(seconds)
                mailbox << TICK
              end
            end
          end
        end

        private

        def longer = @pause.tap { @pause = [@pause * 2, TICKS.end].min }

        def order
          @ordered = true
          start_ticker unless @ticker
          @orders << longer
        rescue ThreadError
          nil # the system gives none: the level is changed by what finishes only
        end

        def start_ticker
          Uninterruptible.run do
            @ticker = Mailbox.ticker(@orders = Thread::Queue.new, self)
            @ticker.name = "plait ticker"
            @remains << @ticker.method(:kill)
          end
        end
      end
      private_constant :Mailbox
    end
  end
end
