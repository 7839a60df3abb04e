# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module DB
    # The gems of the drivers: each is asked for by its bridge only.
    module Driver
      # @param gem [String] its name
      # @param requirement [Array<String>] on its version: what a bridge or a patch was tested with
      # @param feature [String] what is required
      # @raise [UnsupportedError] when it is not there, or is another version
      def self.load(gem, *requirement, feature: gem)
        yield
        check(gem, requirement)
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "this database needs the gem #{gem}: add #{line(gem, requirement)} to the Gemfile"
      end

      # A gem that was not loaded by RubyGems has no version that could be known.
      def self.check(gem, requirement)
        version = defined?(Gem) && Gem.loaded_specs[gem]&.version
        return if !version || Gem::Requirement.new(requirement).satisfied_by?(version)

        raise UnsupportedError, "Plait does not know the gem #{gem} #{version}: write #{line(gem, requirement)} in the Gemfile"
      end

      def self.line(gem, requirement) = "`gem \"#{gem}\", #{requirement.map { |one| "\"#{one}\"" }.join(", ")}`"
      private_class_method :check, :line
    end
  end
end
