# frozen_string_literal: true

require_relative "values/errors"
require_relative "version"

module Plait
  # A gem of the family that a program uses without naming it: Plait::HTTP is in plait-http.
  module Sibling
    class << self
      # @param gem [String]
      # @param feature [String] a file of it, as for `require`
      # @raise [UnsupportedError] where the gem is missing, or is of another version than this one
      def load(gem, feature)
        require feature
        check(gem)
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "#{feature} is in the gem #{gem}, which is not installed: gem install #{gem} -v #{VERSION}" \
                                "#{", and gem \"#{gem}\" in the Gemfile" if defined?(Bundler)}"
      end

      private

      def check(gem)
        version = Gem.loaded_specs[gem]&.version if defined?(Gem)
        return if version.nil? || version == Gem::Version.new(VERSION)

        raise UnsupportedError, "#{gem} #{version} is loaded beside plait #{VERSION}: all of them need one version"
      end
    end
  end
  private_constant :Sibling
end
