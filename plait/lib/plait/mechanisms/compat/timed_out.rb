# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module Mechanisms
    module Compat
      # How {Join} tells its own timeout from the caller's.
      class TimedOut < TimeoutError; end
    end
  end
end
