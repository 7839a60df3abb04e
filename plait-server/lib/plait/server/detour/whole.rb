# frozen_string_literal: true

module Plait
  class Server
    class Detour
      # Answers whose body is there as a whole: what an app does while it is asked for its body, and when it is closed, belongs to
      # where it was called.
      module Whole
        module_function

        # @param response [Array(Integer, Hash, #each)]
        # @return [Array(Integer, Hash, Object)] one that is streamed by a call, or is a file, as it is
        def of(response)
          status, headers, body = response
          return response if body.instance_of?(Array) || body.respond_to?(:to_path) || !body.respond_to?(:each)

          [status, headers, parts(body)]
        end

        # @param body [#each]
        # @return [Array<String>]
        def parts(body)
          parts = []
          body.each { |part| parts << part } # rubocop:disable Style/MapIntoArray -- a body has no more than each
          parts
        ensure
          body.close if body.respond_to?(:close)
        end
      end
    end
  end
end
