# frozen_string_literal: true

require "rbconfig"
require_relative "callable"
require "plait/values/errors"
require "plait/values/own_code"

module Plait
  module RPC
    # Which methods of a handler a peer can call: public ones that the program itself defines, judged by their owner. That is the
    # handler's class, a class or module of the program that it inherits or mixes in, or the handler alone; of a class or module,
    # its singleton. Owners of Ruby's core, its library and other gems don't count: neither `send`, nor what a gem adds to Object.
    #
    # What a delegator or `method_missing` answers can be called where `methods:` lists it.
    module Exposure
      # What Ruby calls, even where a class has made it public.
      HOOKS = %i[method_missing respond_to? respond_to_missing? initialize initialize_copy initialize_clone initialize_dup
                 method_added singleton_method_added inherited included extended prepended].freeze
      # On any Ruby; others of the core are known by their names, which have no place in a file.
      CORE = [Class, Array, Comparable, Hash, Integer, IO, Method, Proc, Range, String, Struct, Symbol, Thread].freeze
      # The directory of the gem that a file belongs to.
      GEM_HOME = %r{\A.*/gems/[^/]+-[^/]+/}
      # Where Ruby's own code stands: core, library, and those of its libraries that also come as gems and forward any call.
      RUBYS = %r{\A<internal:|/gems/(?:delegate|forwardable|ostruct)-[^/]+/|
                 \A(?:#{Regexp.union(*RbConfig::CONFIG.values_at("rubylibprefix", "rubyarchdir", "sitedir").compact)})
                 /(?!.*/?gems/)}x
      CLASS = ::Kernel.instance_method(:class)
      SINGLETON = ::Kernel.instance_method(:singleton_class)
      METHOD = ::Kernel.instance_method(:public_method)
      NAME = ::Module.instance_method(:name)
      NAMES = ::Module.instance_method(:public_instance_methods)
      FIND = ::Module.instance_method(:public_instance_method)
      private_constant :CORE, :GEM_HOME, :RUBYS, :CLASS, :SINGLETON, :METHOD,
                       :NAME, :NAMES, :FIND

      class << self
        # @param handler [Object, Module, Hash{String, Symbol => #call}]
        # @param methods [Array<String, Symbol>, Hash{String, Symbol => String, Symbol}, nil] the names that can be called;
        #   a Hash gives them other names outside: outer => inner
        # @return [Hash{String => Callable}]
        # @raise [UsageError]
        def of(handler, methods: nil)
          exposed = Hash === handler ? blocks(handler) : methods_of(handler, names(handler, methods)) # rubocop:disable Style/CaseEquality -- a BasicObject too
          raise UsageError, "nothing can be called of #{describe(handler)}: list it in methods:" if exposed.empty?

          exposed.freeze
        end

        # @param handler [Object, Module]
        # @return [Array<Symbol>] what can be called where nothing is listed
        def own(handler)
          lineage = lineage(handler)
          home = home_of(module?(handler) ? handler : CLASS.bind_call(handler))
          owners = owners(handler, lineage, home)
          names = owners.flat_map { |owner| NAMES.bind_call(owner, false) }.uniq - HOOKS
          names.select { |name| own?(public_method(lineage.first, name), owners, home, module?(handler)) }
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

        # A library may have written it into the handler's class. One in C has no file.
        def own?(method, owners, home, alone)
          file, = method&.source_location
          owners.include?(method&.owner) && (file ? !foreign?(home(file), home) : !alone)
        end

        # @return [UnboundMethod, nil] nil: it is hidden, or taken away, further down
        def public_method(kind, name)
          FIND.bind_call(kind, name)
        rescue NameError
          nil
        end

        # What a foreign class or module has mixed in is foreign too.
        def owners(handler, lineage, home)
          named = singletons(handler)
          foreign = CORE + lineage.select { |owner| foreign?(home_of(named.fetch(owner, owner)), home) }
          lineage - foreign.flat_map(&:ancestors)
        end

        def lineage(handler)
          SINGLETON.bind_call(handler).ancestors
        rescue TypeError # a number or a Symbol
          CLASS.bind_call(handler).ancestors
        end

        # @return [Hash{Class => Module}] of a class or module: its singleton, and those of its superclasses
        def singletons(handler)
          return {} unless module?(handler)

          [handler, *handler.ancestors.grep(Class)].to_h { |one| [one.singleton_class, one] }
        end

        def module?(handler) = Module === handler # rubocop:disable Style/CaseEquality -- a BasicObject too

        def foreign?(its, home) = its == :ruby || (its != home && !its.nil?)

        # @return [Symbol, String, nil] :ruby; or the directory of a gem; nil: the program itself
        def home_of(owner)
          name = NAME.bind_call(owner) or return
          file, line = Object.const_source_location(name) || return
          line.to_i.zero? ? :ruby : home(file)
        rescue NameError
          nil # its name is none of a constant
        end

        def home(file)
          return :ruby if RUBYS.match?(file)

          file[GEM_HOME] || (:plait if OwnCode.file?(file))
        end

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
