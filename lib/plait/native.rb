# frozen_string_literal: true

module Plait
  # The C extension, where it was compiled. Without it, or with PLAIT_PURE=1 in the environment, everything works on the
  # Ruby twins of its parts, more slowly.
  module Native
    # @return [String, nil] why the extension isn't there; nil when it is
    REASON =
      begin
        raise LoadError, "it is for CRuby" unless RUBY_ENGINE == "ruby"
        raise LoadError, "PLAIT_PURE=1 switches it off" if ENV["PLAIT_PURE"] == "1"

        require "plait/plait"
        nil
      rescue LoadError => e
        e.message
      end

    # @return [Boolean]
    def self.available? = REASON.nil?

    # @return [String, nil] its file
    def self.path = $LOADED_FEATURES.find { |file| file.match?(%r{/plait/plait\.\w+\z}) && !file.end_with?(".rb") }
  end
end
