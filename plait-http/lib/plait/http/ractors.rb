# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    # Ractors share no object, and connections, TLS and the pool are objects that all calls share.
    # @api private
    module Ractors
      class << self
        # @return [void]
        # @raise [UnsupportedError] in a ractor that is not the main one
        def refuse_others!
          raise refusal if defined?(::Ractor) && ::Ractor.current != ::Ractor.main
        end

        # @return [UnsupportedError]
        def refusal
          UnsupportedError.new("a ractor can't use the connections of Plait::HTTP: for more than one core use on: :processes, " \
                               "or [:processes, :fibers]")
        end
      end
    end
  end
end
