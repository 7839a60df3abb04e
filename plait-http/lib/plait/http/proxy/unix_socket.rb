# frozen_string_literal: true

require "plait/io/endpoint"
require "plait/values/errors"

module Plait
  module HTTP
    module Proxy
      # A UNIX socket, behind which all origins of a client are: the connection to it is one to the origin.
      class UnixSocket
        # @param path [String]
        # @raise [UsageError]
        def initialize(path)
          path = path.to_path if path.respond_to?(:to_path)
          raise UsageError, "unix: takes the path of a socket, not #{path.class}" unless path.is_a?(String)

          @endpoint = Io::Endpoint.unix(path)
        end

        # @param connector [Io::Connector]
        # @param deadline [Deadline, nil]
        # @return [Socket]
        # @raise [ConnectError, ConnectTimeout]
        def connect(connector, _origin, deadline:, phases:) = connector.connect(@endpoint, deadline: deadline, phases: phases)

        # @return [Boolean]
        def absolute_form?(_origin) = false

        def to_s = @endpoint.to_s
      end
    end
  end
end
