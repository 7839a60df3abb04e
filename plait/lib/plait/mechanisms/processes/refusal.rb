# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Says why there is no further process, and what to do.
      module Refusal
        TOO_MANY = "too many processes or threads; raise what is allowed (ulimit -u, pids.max) or lower limit:"
        FILES = [Errno::EMFILE, Errno::ENFILE].freeze

        class << self
          # @param reason [Exception] what the system said
          # @return [UnsupportedError] whose cause it is
          def of(reason)
            raise UnsupportedError, "can't start a worker process (#{reason.message}): #{advice(reason)}", cause: reason
          rescue UnsupportedError => e
            e
          end

          private

          def advice(reason)
            case reason
            when Errno::EAGAIN, ThreadError then TOO_MANY
            when Errno::ENOMEM then "not enough memory; lower limit:"
            when *FILES then "too many open files; raise what is allowed (ulimit -n) or lower limit:"
            else "use on: :threads"
            end
          end
        end
      end
    end
  end
end
