# frozen_string_literal: true

module Plait
  # The C extension of this gem, where it was compiled; the other gems' extensions need it. Without it, or with
  # PLAIT_PURE=1 in the environment, everything works on the Ruby twins of its parts, more slowly.
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

    def self.available? = REASON.nil?

    # Tells the child of a fork from its parent: connections, threads and locks of the parent are no use to the child.
    # The extension counts forks, which costs no system call.
    # @!method self.fork_generation
    #   @return [Integer] the same until this process is forked, and another one in the child
    unless available?
      def self.fork_generation = Process.pid
      def self.keep_native_thread = self
    end

    # @param generation [Integer, nil] nil: an exception has come before it was asked for
    # @return [Boolean] whether this process is a child that was forked since
    def self.forked_since?(generation) = !generation.nil? && generation != fork_generation

    # @param name [String] of an extension: "plait", or that of another gem, such as "plait_io"
    # @return [String, nil] its file, once it is loaded
    def self.path(name = "plait") = $LOADED_FEATURES.find { |file| file.match?(%r{/plait/#{name}\.(?!rb\z)\w+\z}) }
  end
  private_constant(*constants.grep(/\ANative/))
end
