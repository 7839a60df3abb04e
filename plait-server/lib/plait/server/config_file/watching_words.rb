# frozen_string_literal: true

require_relative "../access_log"
require_relative "../place"

module Plait
  class Server
    class ConfigFile
      # Words about what is written down.
      module WatchingWords
        # @param path [String] of a file, or "-" for standard output
        # @param format [Symbol] :common, :combined or :json
        # @return [void]
        def access_log(path = "-", format: :common)
          @settings[:access_log] = text(:access_log, path)
          @settings[:log_format] = located { AccessLog.format(format.to_s.to_sym) && format.to_sym } if path
        end

        # @return [void]
        def log_requests(answer = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
          access_log if answer
        end

        # @param place [String] "tcp://127.0.0.1:9394": where Prometheus finds /metrics
        # @return [void]
        def metrics(place)
          located { Place.new(place.to_s) } unless place.nil?
          @settings[:metrics] = place&.to_s
        end

        # @param number [Numeric] seconds for which a request may hold up the loop of fibers before that is told
        # @return [void]
        def blocking(number) = @settings[:blocking] = seconds(:blocking, number)

        # Sends what this process and its workers print to files.
        # @param out [String, nil]
        # @param err [String, nil]
        # @return [void]
        def stdout_redirect(out = nil, err = nil, _append = true) # rubocop:disable Style/OptionalBooleanParameter -- Puma's
          @settings[:stdout] = text(:stdout_redirect, out)
          @settings[:stderr] = text(:stdout_redirect, err)
        end
      end
    end
  end
end
