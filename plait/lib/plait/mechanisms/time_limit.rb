# frozen_string_literal: true

require "timeout"

module Plait
  # Ends a block that lasts too long. In a fiber it uses the scheduler's timers, elsewhere the `timeout` gem's one
  # watching thread.
  module TimeLimit
    # Seconds, thirty years: Ruby's own clocks refuse what is much longer.
    LONGEST = 1_000_000_000

    # Raised inside the block; the token tells nested limits apart.
    class Expired < Mechanisms::Interruption; end

    # Lets the `timeout` gem start its thread. (The one that comes with Ruby 3.1 starts one at each call.)
    # @raise [ThreadError] when the system gives none
    def self.prepare = ::Timeout.timeout(60) { nil }

    # @return [Object] the block's value
    # @raise [TimeoutError] of the given class
    def self.enforce(seconds, error = TimeoutError, &block)
      token = Deadline.overrun(seconds)
      raise error, token unless seconds.positive?

      begin
        ::Timeout.timeout([seconds, LONGEST].min, Expired, token, &block)
      rescue Expired => e
        raise unless e.message.equal?(token)

        raise e.instead || error, e.instead&.message || token, e.backtrace
      end
    end
  end
  private_constant :TimeLimit
end
