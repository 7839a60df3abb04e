# frozen_string_literal: true

module Plait
  module Patches
    # Of IO and Kernel, on the Rubies before 3.2: select and timeout.
    module SelectPatches
      def self.install = [Select, KernelSelect, IOTimeout].each(&:install)

      # Ruby 3.1 has no io_select hook (3.2 has): IO.select stops the thread.
      module Select
        def self.install = IO.singleton_class.prepend(self)

        def select(readables, writables = nil, exceptables = nil, timeout = nil)
          scheduler = Patches.scheduler
          return super unless scheduler && timeout != 0

          scheduler.io_select(readables, writables, exceptables, timeout)
        end

        Gate.before(self, :select)
      end

      # Kernel#select and Kernel.select are IO.select under other names.
      module KernelSelect
        # As functions of the module, and as private methods of every object.
        def self.install
          ::Kernel.singleton_class.prepend(self)
          ::Kernel.prepend(dup.tap { |hidden| hidden.send(:private, :select) })
        end

        def select(...) = IO.select(...)
      end

      # IO#timeout came with Ruby 3.2, and Async calls it on every Ruby: pg, trilogy and mysql2 fail under it without.
      module IOTimeout
        def self.install
          return if IO.method_defined?(:timeout)

          IO.include(self)
          IO.const_set(:TimeoutError, Class.new(IOError))
        end

        # @return [Numeric, nil] seconds
        def timeout = @timeout

        def timeout=(seconds)
          @timeout = seconds
        end
      end

      private_constant :Select, :KernelSelect, :IOTimeout
    end
  end
end
