# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # Ruby 3.1 has no io_select hook (3.2 has): IO.select stops the thread.
      module Select
        def self.install
          IO.singleton_class.prepend(self) unless Fiber.method_defined?(:storage)
        end

        def select(readables, writables = nil, exceptables = nil, timeout = nil)
          scheduler = Compat.scheduler
          return super unless scheduler && timeout != 0

          scheduler.io_select(readables, writables, exceptables, timeout)
        end
      end
    end
  end
end
