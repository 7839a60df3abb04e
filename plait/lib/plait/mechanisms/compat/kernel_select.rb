# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # Kernel#select and Kernel.select are IO.select under other names.
      module KernelSelect
        # As functions of the module, and as private methods of every object.
        def self.install
          ::Kernel.singleton_class.prepend(self)
          ::Kernel.prepend(dup.tap { |hidden| hidden.send(:private, :select) })
        end

        def select(...) = IO.select(...)
      end
    end
  end
end
