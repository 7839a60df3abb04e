# frozen_string_literal: true

require "minitest"

module Support
  # Ruby 3.3 and 3.4 run the threads of all ractors but the main one on threads of the system that they share, and at times forget
  # to run one of them again after another has ended. On 3.3.8 and 3.4.11 this stops within a second, at the latest beside other
  # work:
  #
  #   1_000.times { Array.new(2) { Ractor.new { Thread.new { 1 }.join } }.each(&:take) }
  #
  # Such a ractor does not end with the program either, which then stays for ever.
  module RactorThreads
    FORGOTTEN = "Ruby #{RUBY_VERSION} at times forgets a ractor in which a thread has ended, without Plait too".freeze

    module_function

    # @raise [Minitest::Skip]
    def need_to_go_on
      raise Minitest::Skip, FORGOTTEN if RUBY_ENGINE == "ruby" && RUBY_VERSION >= "3.3" && RUBY_VERSION < "4.0"
    end
  end
end
