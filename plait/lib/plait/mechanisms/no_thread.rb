# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Mechanisms
    # What is said where the system gives no thread at all, and not only no further one.
    module NoThread
      # @param purpose [String] what it was for
      # @param error [ThreadError] Ruby's own
      # @return [UnsupportedError]
      def self.for(purpose, error)
        UnsupportedError.new("the system gives no thread for #{purpose} (#{error.message}); see `ulimit -u`, or the limit of " \
                             "processes of the container")
      end
    end
  end
end
