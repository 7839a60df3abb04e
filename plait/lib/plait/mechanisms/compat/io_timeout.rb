# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # IO#timeout came with Ruby 3.2, and Async calls it on every Ruby: pg, trilogy and mysql2 fail under it without.
      module IOTimeout
        def self.install
          return if IO.method_defined?(:timeout)

          IO.include(self)
          IO.const_set(:TimeoutError, Class.new(IOError))
        end

        # @return [Numeric, nil] seconds
        def timeout = @timeout

        # @param seconds [Numeric, nil]
        def timeout=(seconds)
          @timeout = seconds
        end
      end
    end
  end
end
