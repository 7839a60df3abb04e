# frozen_string_literal: true

module Support
  class Signatures
    # A module or class of the signatures, beside the one of the code.
    class SignedModule
      # What Struct.new and Exception.exception define by themselves.
      RUBYS = %w[.members .[] .keyword_init? .inspect .new].freeze

      # @return [String]
      attr_reader :name

      # @param name [String]
      # @param members [Array<RBS::AST::Members::t>]
      # @param internal [Array<String>] paths of methods that are not for users
      def initialize(name, members, internal)
        @name = name
        @members = members
        @internal = internal
      end

      # @return [Array<String>] "#value", ".map": public in the code, and not signed
      def missing_methods = coded.keys.reject { |name| internal?(name) } - signed.keys - RUBYS

      # @return [Array<String>] signed, and not in the code
      def invented_methods = signed.keys - coded.keys

      # @return [Array<String>]
      def differing_parameters
        functions.filter_map do |name, overloads|
          method = coded[name]
          next if method.nil? || native?(method) || agree?(method.parameters, overloads)

          "#{@name}#{name}: code #{method.parameters}"
        end
      end

      private

      def constant = @constant ||= Object.const_get(@name)

      def internal?(name) = [constant, *parts].any? { |part| @internal.include?("#{part}#{name}") }

      # @return [Array<Module>] private modules that are cut out of this class
      def parts
        names = constant.constants(false)
        own = constant.included_modules.select { |part| part.to_s.start_with?("#{@name}::") }
        own.reject { |part| names.include?(part.to_s.delete_prefix("#{@name}::").to_sym) }
      end

      # @return [Hash{String => Method, UnboundMethod}]
      def coded
        @coded ||= { **own_instance_methods, **own_initialize, **own_class_methods }
      end

      def own_instance_methods
        [constant, *parts].flat_map { |part| part.public_instance_methods(false) }
                          .to_h { |name| ["##{name}", constant.instance_method(name)] }
      end

      # It takes anything, and hands on to its twin in Ruby what is not for it.
      def native?(method) = method.owner.to_s.start_with?("Plait::Native::")

      def own_initialize
        return {} unless constant.private_method_defined?(:initialize, false)

        { "#initialize" => constant.instance_method(:initialize) }
      end

      def own_class_methods
        constant.singleton_class.public_instance_methods(false).to_h { |name| [".#{name}", constant.method(name)] }
      end

      # @return [Hash{String => RBS::AST::Members::t}]
      def signed
        @signed ||= @members.each_with_object({}) { |member, all| names(member).each { |name| all[name] = member } }
      end

      def names(member)
        case member
        when RBS::AST::Members::MethodDefinition then method_names(member)
        when RBS::AST::Members::AttrReader then ["##{member.name}"]
        when RBS::AST::Members::AttrWriter then ["##{member.name}="]
        when RBS::AST::Members::AttrAccessor then ["##{member.name}", "##{member.name}="]
        else []
        end
      end

      # The initialize of a Struct is Struct's own.
      def method_names(member)
        return [] if member.name == :initialize && constant < Struct

        ["#{member.kind == :singleton ? "." : "#"}#{member.name}"]
      end

      # @return [Hash{String => Array<RBS::Types::Function>}]
      def functions
        signed.select { |_, member| member.is_a?(RBS::AST::Members::MethodDefinition) }
              .transform_values { |member| member.overloads.map { |overload| overload.method_type.type } }
      end

      def agree?(parameters, overloads)
        overloads.all? { |type| positionals_agree?(parameters, type) && keywords_known?(parameters, type) } &&
          keywords_complete?(parameters, overloads)
      end

      def positionals_agree?(parameters, function)
        kinds = parameters.map(&:first)
        required = function.required_positionals.size
        most = kinds.include?(:rest) ? Float::INFINITY : kinds.count(:req) + kinds.count(:opt)
        required >= kinds.count(:req) && required + function.optional_positionals.size <= most
      end

      def keywords_known?(parameters, function)
        signed = function.required_keywords.keys + function.optional_keywords.keys
        missing = keywords(parameters, :keyreq) - function.required_keywords.keys
        missing.empty? && (keyrest?(parameters) || (signed - keywords(parameters, :key, :keyreq)).empty?)
      end

      def keywords_complete?(parameters, overloads)
        return true if overloads.any?(&:rest_keywords)

        signed = overloads.flat_map { |function| function.required_keywords.keys + function.optional_keywords.keys }
        (keywords(parameters, :key, :keyreq) - signed).empty?
      end

      def keywords(parameters, *kinds) = parameters.filter_map { |kind, name| name if kinds.include?(kind) }

      def keyrest?(parameters) = parameters.any? { |kind, _| kind == :keyrest }
    end
  end
end
