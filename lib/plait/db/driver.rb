# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module DB
    # The gems of the drivers: each is asked for by its bridge only.
    module Driver
      # @param gem [String] its name
      # @param requirement [String] on its version
      # @param feature [String] what is required
      # @raise [UnsupportedError] when it is not there
      def self.load(gem, requirement, feature = gem)
        yield
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "this database needs the gem #{gem}: add `gem \"#{gem}\", \"#{requirement}\"` to the Gemfile"
      end
    end
  end
end
