# frozen_string_literal: true

require_relative "root"

module Support
  # A warning about a file of the project fails the test that caused it, also when another thread caused it. Those about
  # other people's gems are dropped.
  module Warnings
    class Unexpected < StandardError; end

    OURS = %r{\A#{Regexp.escape(ROOT)}/(?!vendor/|tmp/)}
    GEMS = %r{\A[^:]*/(?:gems|ruby|vendor)/}
    BUFFER = "IO::Buffer is experimental"

    @seen = Queue.new

    class << self
      # @return [Queue<String>] the warnings about our files, not yet charged to a test
      attr_reader :seen

      # @return [Queue<String>, nil] where warnings go while a test expects some
      attr_accessor :expected

      # Ruby 4.0 names the line that calls an IO when it makes the first buffer for a scheduler, such as Async's.
      def about_gem?(message)
        return true if GEMS.match?(message) && !OURS.match?(message)

        message.include?(BUFFER) && (scheduler = Fiber.current_scheduler) && !scheduler.class.name.start_with?("Plait::")
      end

      def receive(message)
        return expected << message if expected
        return unless OURS.match?(message)

        seen << message
        raise Unexpected, message
      end

      def drain = Array.new(seen.size) { seen.pop }
    end

    # Ruby calls this for its own warnings and for Kernel#warn.
    module Hook
      def warn(message, category: nil, **)
        return if category && !Warning[category] # Ruby 3.3 leaves it to the method that is hooked here
        return if Warnings.about_gem?(message)

        Warnings.receive(message)
        super unless Warnings.expected
      end
    end

    # @return [Array<String>] what was warned about during the block, in any thread; none of it fails the test
    def collect_warnings
      Warnings.expected = heard = Queue.new
      yield
      Array.new(heard.size) { heard.pop }
    ensure
      Warnings.expected = nil
    end

    def after_teardown
      super
      heard = Warnings.drain
      flunk("a warning about our own file:\n#{heard.join}") if heard.any? && failures.empty?
    end
  end
end

Warning.extend(Support::Warnings::Hook)
