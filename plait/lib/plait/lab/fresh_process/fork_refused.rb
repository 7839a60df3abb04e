# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module Lab
    class FreshProcess
      # The system gives no new process.
      class ForkRefused < UnsupportedError; end
    end
  end
end
