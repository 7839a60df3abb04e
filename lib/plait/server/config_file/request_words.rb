# frozen_string_literal: true

module Plait
  class Server
    class ConfigFile
      # Words about what runs the requests, how many and for how long.
      module RequestWords
        # @param mechanism [Symbol] :hybrid, :fibers or :threads
        # @param limit [Integer, nil] requests that run at once in each process
        # @return [void]
        def on(mechanism, limit: nil)
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
        def early_hints(answer = true) = @settings[:early_hints] = answer # rubocop:disable Style/OptionalBooleanParameter

        # Other options of {Server#initialize}.
        # @return [void]
        def server(**options) = @server.merge!(options)

        %i[idle_timeout head_timeout body_timeout write_timeout handshake_timeout].each do |name|
          define_method(name) { |number| @server[name] = seconds(name, number) }
        end
        alias persistent_timeout idle_timeout
        alias first_data_timeout head_timeout
      end
    end
  end
end
