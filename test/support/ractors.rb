# frozen_string_literal: true

require "minitest"
require "plait"

module Support
  # For tests that run blocks on ractors.
  module Ractors
    # See Plait::Mechanisms::Ractors. On 3.3.8 and 3.4.11 this stops within a second, at the latest beside other work:
    # `1_000.times { Array.new(2) { Ractor.new { Thread.new { 1 }.join } }.each(&:take) }`
    FORGETS = RUBY_ENGINE == "ruby" && RUBY_VERSION.between?("3.3", "4.0")

    module_function

    # @return [String, nil] why there are none, as a user reads it
    def unavailable = Plait.const_get(:Mechanisms).find(:ractors).unavailable

    # @return [Object] its block's value, on each Ruby
    def value(ractor) = ractor.respond_to?(:value) ? ractor.value : ractor.take

    # @raise [Minitest::Skip]
    def needed = (reason = unavailable) && raise(Minitest::Skip, reason)

    # For ractors that the test itself makes, with threads in them.
    # @raise [Minitest::Skip]
    def with_threads_needed
      needed
      raise Minitest::Skip, "Ruby #{RUBY_VERSION} may forget a ractor in which a thread has ended" if FORGETS
    end
  end
end
