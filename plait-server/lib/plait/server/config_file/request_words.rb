# frozen_string_literal: true

require_relative "../options"

module Plait
  class Server
    class ConfigFile
      # Words about what runs the requests, how many and for how long.
      module RequestWords
        # @param mechanism [Symbol] :hybrid, :fibers or :threads
        # @param limit [Integer, nil] requests that run at once in each process
        # @return [void]
        def on(mechanism, limit: nil)
          located { Options.build(on: mechanism.respond_to?(:to_sym) ? mechanism.to_sym : mechanism) }
          @settings[:on] = mechanism.to_sym
          self.limit(limit) if limit
        end

        # As Puma has it: so many threads in each process; fibers, where {#on} says so.
        # @param least [Integer, String] of no meaning here: threads are begun when they are needed
        # @param most [Integer, String]
        # @return [void]
        def threads(least, most = least)
          @settings[:on] = :threads unless @settings.key?(:on)
          limit([count(:threads, least, from: 0), count(:threads, most)].max)
        end

        # @param number [Integer, String] requests that run at once in each process
        # @return [void]
        def limit(number) = @settings[:limit] = count(:limit, number)

        # @param number [Integer, String] requests that wait for that; further ones are answered 503
        # @return [void]
        def queue(number) = @settings[:queue] = count(:queue, number)

        # Offers apps `rack.early_hints`.
        # @return [void]
        def early_hints(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
          @settings[:early_hints] = answer(:early_hints, value)
        end

        # Other options of {Server#initialize}.
        # @return [void]
        def server(**options)
          located { Options.build(options) }
          @server.merge!(options)
        end

        # As Puma has it.
        # @param number [Integer, String] bytes of a request's body
        # @return [void]
        def http_content_length_limit(number)
          @server[:limits] = { **@server.fetch(:limits, {}), body: count(:http_content_length_limit, number) }
        end

        # @return [void]
        def enable_keep_alives(value = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
          @server[:requests] = 1 if answer(:enable_keep_alives, value) == false
        end

        %i[idle_timeout head_timeout body_timeout write_timeout queue_timeout handshake_timeout].each do |name|
          define_method(name) { |number| @server[name] = number.nil? ? nil : seconds(name, number) }
        end
        alias persistent_timeout idle_timeout
        alias first_data_timeout head_timeout
      end
    end
  end
end
