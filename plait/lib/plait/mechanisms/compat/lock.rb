# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # flock(2) waits in the kernel. Asking again, a little less often each time, can be cancelled; a thread could not.
      module Lock
        FIRST_PAUSE = 0.001
        LONGEST_PAUSE = 0.02

        def self.install = File.prepend(self)

        def self.waits?(operation) = operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB | File::LOCK_UN)

        def flock(operation)
          return super unless Compat.scheduler && Lock.waits?(operation)

          pause = FIRST_PAUSE
          until (result = super(operation | File::LOCK_NB))
            sleep(pause)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
          result
        end
      end
    end
  end
end
