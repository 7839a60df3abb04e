# frozen_string_literal: true

require_relative "callable"
require_relative "../values/errors"

module Plait
  module RPC
    # Which methods of an object can be called from outside: those that its class itself defines as public, and those defined
    # for the object alone. Nothing that is inherited or mixed in, so nothing of Ruby's own: `send`, `instance_eval` and
    # `system` are no methods of anybody's service. More, or fewer, when they are listed.
    module Exposure
      # Of Ruby's own; whatever is defined on them is there for everybody.
      ROOTS = [BasicObject, Object, Kernel, Module, Class].freeze
      # An object of these is no service: it is what a file happens to end in, say, and all of its methods are Ruby's.
      VALUES = [NilClass, TrueClass, FalseClass, Integer, Float, Rational, Complex, String, Symbol, Regexp, Array, Range, Proc,
                Method, Thread, IO].freeze
      # What Ruby calls, even where a class has made it public.
      HOOKS = %i[method_missing respond_to? respond_to_missing? initialize initialize_copy initialize_clone initialize_dup
                 method_added singleton_method_added inherited included extended prepended].freeze
      CLASS = ::Kernel.instance_method(:class)
      SINGLETON = ::Kernel.instance_method(:singleton_methods)
      METHOD = ::Kernel.instance_method(:public_method)
      private_constant :VALUES, :CLASS, :SINGLETON, :METHOD

      class << self
        # @param handler [Object, Module, Hash{String, Symbol => #call}]
        # @param methods [Array<String, Symbol>, Hash{String, Symbol => String, Symbol}, nil] the names that can be called;
        #   a Hash gives them other names outside: outer => inner
        # @return [Hash{String => Callable}]
        # @raise [UsageError]
        def of(handler, methods: nil)
          exposed = Hash === handler ? blocks(handler) : methods_of(handler, names(handler, methods)) # rubocop:disable Style/CaseEquality -- a BasicObject too
          raise UsageError, "nothing can be called of #{describe(handler)}: its class defines no public method" if exposed.empty?

          exposed.freeze
        end

        private

        def blocks(handler)
          handler.to_h do |name, block|
            raise UsageError, "#{name}: a #{block.class} can't be called" unless block.respond_to?(:call)

            [name.to_s, Callable.new(name, block, :call, parameters_of(block))]
          end
        end

        def parameters_of(block) = block.respond_to?(:parameters) ? block.parameters : block.method(:call).parameters

        # @return [Hash{String => Symbol}]
        def names(handler, methods)
          return own(handler).to_h { |name| [name.name, name] } unless methods
          return methods.to_h { |outer, inner| [outer.to_s, inner.to_sym] } if methods.is_a?(Hash)

          methods.to_h { |name| [name.to_s, name.to_sym] }
        end

        def own(handler)
          kind = CLASS.bind_call(handler)
          mine = [*ROOTS, *VALUES].include?(kind) ? [] : kind.public_instance_methods(false)
          (mine | singleton(handler)) - HOOKS
        end

        # Of a BasicObject too.
        def singleton(handler) = SINGLETON.bind_call(handler, false)

        def methods_of(handler, names)
          names.to_h { |outer, inner| [outer, Callable.new(outer, handler, inner, method_of(handler, inner).parameters)] }
        end

        def method_of(handler, name)
          METHOD.bind_call(handler, name)
        rescue NameError
          raise UsageError, "#{describe(handler)} has no public method #{name}, which methods: lists"
        end

        def describe(handler) = "the #{CLASS.bind_call(handler)} that is the handler"
      end
    end
  end
end
