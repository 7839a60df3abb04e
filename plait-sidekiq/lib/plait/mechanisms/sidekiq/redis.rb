# frozen_string_literal: true

require "plait/mechanisms/mechanism"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The Redis behind Sidekiq.
      module Redis
        # Seconds between two attempts while it is away.
        PAUSE = 0.5
        # What it answers while it starts, is full, or another one becomes the primary.
        PASSING = /\A(LOADING|OOM|BUSY|TRYAGAIN|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN) /

        class << self
          # Connections besides those that the program uses for Sidekiq itself, and as it has configured these. (What Sidekiq
          # offers for that would say so in its log at each run.)
          # @param size [Integer]
          # @return [ConnectionPool]
          def pool(size)
            ::Sidekiq.redis do |connection|
              kind = connection.class
              config = connection.config
              ConnectionPool.new(size: size) { kind.new(config.new_client) }
            end
          end

          # @return [Object] what the block returns
          # @raise [ConnectionError]
          def reached
            yield
          rescue ::RedisClient::Error => e
            raise error(e)
          end

          # Tries again while Redis is away, or can't just now.
          # @param seconds [Numeric] at most
          # @yieldreturn [Object]
          # @return [Object] what the block returns
          # @raise [RedisClient::Error] it is still away, or this is no such error
          def patiently(seconds, only: method(:passing?))
            limit = Deadline.after(seconds)
            begin
              yield
            rescue ::RedisClient::Error => e
              raise if limit.expired? || !only.call(e)

              sleep(PAUSE)
              retry
            end
          end

          # @param error [Exception]
          # @return [Boolean] whether it may be over soon
          def passing?(error) = error.is_a?(::RedisClient::ConnectionError) || PASSING.match?(error.message)

          # @param error [Exception]
          # @return [Boolean] whether what was to be done was certainly not done, and may be soon
          def untouched?(error) = error.is_a?(::RedisClient::CannotConnectError) || error.message.start_with?("LOADING ")

          # @param cause [Exception]
          # @return [Exception]
          def error(cause)
            return cause unless cause.is_a?(::RedisClient::Error)

            endpoint = cause.config&.server_url if cause.respond_to?(:config)
            ConnectionError.new("the Redis of Sidekiq can't be reached, or refuses (#{cause.message}): see REDIS_URL, or what " \
                                "Sidekiq.configure_client says", endpoint: endpoint)
          end
        end
      end
    end
  end
end
