# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The Redis behind Sidekiq.
      module Redis
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
