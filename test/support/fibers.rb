# frozen_string_literal: true

module Support
  # For tests of fibers that wait, among others that hold wherever there are threads.
  module Fibers
    # @raise [Minitest::Skip] on a Ruby without a fiber scheduler
    def skip_without_fibers = RUBY_ENGINE == "ruby" || skip("#{RUBY_ENGINE} has no fiber scheduler")
  end
end
