# frozen_string_literal: true

require "rbconfig"

module Plait
  module RPC
    # A method that peers can call, and whether it is quick.
    class Callable
      # Seconds from which a run is slow; raising it lets more methods run in a row on one worker.
      SLOW = 0.0002
      # Quick runs in a row after which a method counts as quick.
      TRUST = 16

      # @return [String] for peers
      attr_reader :name
      # @return [Array<Array>] as Method#parameters
      attr_reader :parameters

      def initialize(name, object, method, parameters)
        @name = name.to_s.dup.freeze
        @object = object
        @method = method
        @parameters = parameters
        @least = count(:req)
        @most = @least + count(:opt) unless count(:rest).positive?
        @required = names(:keyreq).to_h { |name| [name, name.to_sym] }
        @keywords = (@required.keys + names(:key)).to_h { |name| [name, name.to_sym] }
        @open = count(:keyrest).positive?
        @named = @open || @keywords.any?
        @plain = [@object, @method, @least, @most].freeze unless @named # for C
        @doubt = 2
      end

      # @return [Array(Integer, Integer or nil)] arguments at least and, unless there is no bound, at most
      def arity = [@least, @most]

      # @param arguments [Array] a Hash at their end is taken for the keywords of a method that has some
      # @return [Refusal, nil] why they are wrong
      def refusal(arguments)
        return if keywords?(arguments) ? fits?(arguments.size - 1) : fits?(arguments.size) && @required.empty?

        Refusal.new(:arguments, "#{@name} takes #{expectation}, not #{arguments.size}")
      end

      # @param arguments [Array] that are not refused
      # @param _incoming [Incoming, nil] their request
      # @yieldparam value [Object] an answer, before the method is over
      def call(arguments, _incoming = nil, &block)
        return @object.__send__(@method, *arguments, &block) unless keywords?(arguments)

        @object.__send__(@method, *arguments[0, arguments.size - 1], **arguments.last.transform_keys(&:to_sym), &block)
      end

      # @return [Boolean] whether its runs are so short that no other worker need care for other requests meanwhile
      def quick? = @doubt.zero?

      # @param seconds [Float] of a run
      def took(seconds)
        if seconds > SLOW then @doubt = TRUST
        elsif @doubt.positive? then @doubt -= 1
        end
      end

      private

      def count(kind) = @parameters.count { |its, _| its == kind }

      def names(kind) = @parameters.filter_map { |its, name| name.name if its == kind }

      def fits?(size) = size >= @least && (@most.nil? || size <= @most)

      # Only names that the method has: a client must not make Symbols by the million.
      def keywords?(arguments)
        return false unless @named && arguments.last.is_a?(Hash) && arguments.size > @least

        named = arguments.last
        named.each_key { |name| return false unless known?(name) }
        @required.all? { |name, symbol| named.key?(name) || named.key?(symbol) }
      end

      def known?(name)
        name = name.name if name.is_a?(Symbol)
        name.is_a?(String) && (@open || @keywords.key?(name))
      end

      def expectation
        return "at least #{plural(@least)}" unless @most

        bounds = @least == @most ? plural(@least) : "#{@least} to #{plural(@most)}"
        @keywords.empty? ? bounds : "#{bounds} and a map of #{@keywords.keys.join(", ")}"
      end

      def plural(number) = number == 1 ? "1 argument" : "#{number} arguments"
    end

    # Which methods of a handler a peer can call: public ones that the program itself defines, judged by their owner. That is the
    # handler's class, a class or module of the program that it inherits or mixes in, or its singleton; of a class or module,
    # only the singleton. Owners of Ruby's core, its library and other gems don't count: no `send`, under no other name, and no
    # method that a gem adds to Object.
    #
    # A method of a delegator or of `method_missing` can be called if `methods:` lists it.
    module Exposure
      # Hooks of Ruby, even if a class has made them public.
      HOOKS = %i[method_missing respond_to? respond_to_missing? initialize initialize_copy initialize_clone initialize_dup
                 method_added singleton_method_added inherited included extended prepended].freeze
      # On any Ruby; others of the core are known by their names, which have no place in a file.
      CORE = [Class, Array, Comparable, Hash, Integer, IO, Method, Proc, Range, String, Struct, Symbol, Thread, ARGF.class,
              ENV.singleton_class].freeze
      # Kinds of classes whose members are methods in C. Ruby 3.2 has Data.
      RECORDS = [Struct, *(::Data if RUBY_VERSION >= "3.2")].freeze
      # The directory of the gem that a file belongs to.
      GEM_HOME = %r{\A.*/gems/[^/]+-[^/]+/}
      # Where Ruby's own code stands: core, library, and its libraries that also come as gems and forward any call.
      RUBYS = %r{\A<internal:|/gems/(?:delegate|forwardable|ostruct)-[^/]+/|
                 \A(?:#{Regexp.union(*RbConfig::CONFIG.values_at("rubylibprefix", "rubyarchdir", "sitedir").compact)})
                 /(?!.*/?gems/)}x
      CLASS = ::Kernel.instance_method(:class)
      SINGLETON = ::Kernel.instance_method(:singleton_class)
      METHOD = ::Kernel.instance_method(:public_method)
      NAME = ::Module.instance_method(:name)
      ANCESTORS = ::Module.instance_method(:ancestors)
      NAMES = ::Module.instance_method(:public_instance_methods)
      FIND = ::Module.instance_method(:public_instance_method)

      class << self
        # @param methods [Array<String, Symbol>, Hash{String, Symbol => String, Symbol}, nil] the names that can be called;
        #   a Hash gives them other names outside: outer => inner
        def of(handler, methods: nil)
          exposed = Hash === handler ? blocks(handler) : methods_of(handler, names(handler, methods)) # rubocop:disable Style/CaseEquality -- a BasicObject too
          raise UsageError, "nothing can be called of #{describe(handler)}: list it in methods:" if exposed.empty?

          exposed.freeze
        end

        # @return [Array<Symbol>] the methods without a list
        def own(handler)
          home = home_of(module?(handler) ? handler : CLASS.bind_call(handler))
          owners = owners(handler, ancestors(kind = kind(handler)), home)
          names = owners.flat_map { |owner| NAMES.bind_call(owner, false) }.uniq - HOOKS
          names.select { |name| own?(public_method(kind, name), owners, home, module?(handler)) }
        end

        private

        def blocks(handler)
          handler.to_h do |name, block|
            raise UsageError, "#{name}: a #{block.class} can't be called" unless block.respond_to?(:call)

            [name.to_s, Callable.new(name, block, :call, parameters_of(block))]
          end
        end

        def parameters_of(block) = block.respond_to?(:parameters) ? block.parameters : block.method(:call).parameters

        def names(handler, methods) = (methods || own(handler)).to_h { |outer, inner = outer| [outer.to_s, inner.to_sym] }

        # A library may have written it into the handler's class. One in C has no file.
        def own?(method, owners, home, alone)
          return false unless method && owners.include?(method.owner)

          file, = method.source_location
          file ? !foreign?(home(file), home) : !alone && !borrowed?(method, owners)
        end

        # An alias of a method that any object has is this method under another name; since Ruby 3.2, one that `public` names
        # belongs to the class. The members of a record may have such names.
        def borrowed?(method, owners)
          name = method.original_name
          return false unless Object.method_defined?(name) || Object.private_method_defined?(name)
          return true unless name == method.name

          member = name.to_s.delete_suffix("=").to_sym
          records = owners.select { |owner| RECORDS.any? { |kind| owner < kind } && !owner.singleton_class? }
          records.none? { |record| record.members.include?(member) }
        end

        # @return [UnboundMethod, nil] nil: it is hidden, or taken away, further down
        def public_method(kind, name)
          FIND.bind_call(kind, name)
        rescue NameError
          nil
        end

        # A module that a foreign class or module mixes in is foreign too.
        def owners(handler, lineage, home)
          named = singletons(handler)
          foreign = CORE + lineage.select { |owner| foreign?(home_of(named.fetch(owner, owner)), home) }
          lineage - foreign.flat_map { |owner| ancestors(owner) }
        end

        # @return [Class] with all methods of the handler
        def kind(handler)
          SINGLETON.bind_call(handler)
        rescue TypeError # a number or a Symbol
          CLASS.bind_call(handler)
        end

        def ancestors(kind) = ANCESTORS.bind_call(kind)

        # @return [Hash{Class => Module}] of a class or module: its singleton, and its superclasses'
        def singletons(handler)
          return {} unless module?(handler)

          [handler, *ancestors(handler).grep(Class)].to_h { |one| [one.singleton_class, one] }
        end

        def module?(handler) = Module === handler # rubocop:disable Style/CaseEquality -- a BasicObject too

        def foreign?(its, home) = its == :ruby || (its != home && !its.nil?)

        # @return [Symbol, String, nil] :ruby; or the directory of a gem; nil: the program itself
        def home_of(owner)
          name = NAME.bind_call(owner) or return
          file, line = Object.const_source_location(name) || (Object.const_defined?(name) ? [] : return) # NilClass on JRuby 10
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
    private_constant :Callable, :Exposure
  end
end
