# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Mechanisms
    # What ends a body from outside: raised at a point where it waits, so that its `ensure` blocks run. It is no
    # StandardError: a body's own `rescue => e` must not swallow it. It never reaches the caller, who sees a
    # {TimeoutError} or a {CancelledError} instead.
    class Interruption < Exception # rubocop:disable Lint/InheritException
      include Replaceable

      def initialize(message = "the result is no longer needed") = super
    end
  end
end
