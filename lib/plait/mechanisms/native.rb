# frozen_string_literal: true

module Plait
  module Mechanisms
    # The C extension, where it was compiled. Without it everything works on the Ruby twins of its parts, more slowly.
    module Native
      # @return [String, nil] why the extension isn't there; nil when it is
      REASON =
        begin
          RUBY_ENGINE == "ruby" ? require("plait/plait") : raise(LoadError, "it is for CRuby")
          nil
        rescue LoadError => e
          e.message
        end

      # @return [Boolean]
      def self.available? = REASON.nil?
    end
  end
end
