# frozen_string_literal: true

require_relative "../root"

module Support
  module House
    # Which gem of the family may know which: their gemspecs say it.
    module Family
      module_function

      # @param gem [String]
      # @param other [String]
      # @return [Boolean]
      def may_use?(gem, other) = gem == other || reachable(gem).include?(other)

      # @return [Array<String>] the gems of the family that come along with this one
      def reachable(gem)
        direct = dependencies(gem)
        (direct + direct.flat_map { |one| reachable(one) }).uniq
      end

      # @return [Array<String>] gems that its gemspec names
      def dependencies(gem)
        @dependencies ||= {}
        @dependencies[gem] ||= Dir.chdir(File.join(ROOT, gem)) do
          Gem::Specification.load("#{gem}.gemspec").runtime_dependencies.map(&:name) & FAMILY
        end
      end
    end
  end
end
