# frozen_string_literal: true

module Plait
  module HTTP
    module NetHTTP
      # The methods of a module put in front of a class's own, and taken away again. A module can't be taken out of a
      # class, but it can be emptied: then the class's methods are its own as before.
      class Mend
        # @param target [Class]
        # @param source [Module] with the methods
        def initialize(target, source)
          @target = target
          @source = source
          @shim = Module.new
          @shim.define_singleton_method(:inspect) { "#{source} (put in front of #{target})" }
        end

        # @return [void]
        def apply
          names.each { |name| put(name) }
          @target.prepend(@shim)
        end

        # @return [void]
        def undo = names.each { |name| @shim.remove_method(name) if @shim.method_defined?(name) || hidden?(name) }

        private

        def names = @source.instance_methods(false) + @source.private_instance_methods(false)

        # A method that Net::HTTP keeps private is private here, too.
        def put(name)
          hidden = @target.private_method_defined?(name)
          @shim.define_method(name, @source.instance_method(name))
          @shim.send(:private, name) if hidden
        end

        def hidden?(name) = @shim.private_method_defined?(name)
      end
    end
  end
end
