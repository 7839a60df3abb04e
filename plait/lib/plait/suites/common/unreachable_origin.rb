# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Suites
    # What was to be asked does not answer; the message says what to do.
    class UnreachableOrigin < Error; end
  end
end
