# frozen_string_literal: true

# Everything Plait raises, in one tree:
#
#   Plait::Error
#   ├── UsageError               the call itself is wrong; nothing was run
#   │   └── UnknownMechanism
#   ├── UnsupportedError         this machine, Ruby or mechanism can't; the message says why and what to do
#   │   ├── UnmarshalableError   a value can't travel between processes
#   │   └── UnshareableError     a block or a value can't be shared with a ractor
#   ├── TimeoutError             a wait lasted longer than it was given; a retry may help
#   │   └── DeadlineExceeded     the time given to the whole is over; a retry won't help
#   ├── CancelledError           somebody no longer needs the result
#   ├── WorkerDied               a worker process ended before it answered
#   ├── OffloadRefused           the offload pool is closed
#   ├── BlockingError            a call blocked the event loop (Scheduler.new(blocking: :raise))
#   └── AllFailed                Plait.first: no candidate succeeded
module Plait
  class Error < StandardError; end

  class UsageError < Error; end

  class UnknownMechanism < UsageError; end

  class UnsupportedError < Error; end

  class UnmarshalableError < UnsupportedError; end

  class UnshareableError < UnsupportedError; end

  class TimeoutError < Error; end

  class DeadlineExceeded < TimeoutError; end

  class CancelledError < Error
    def initialize(message = "cancelled: its result is no longer needed") = super
  end

  class OffloadRefused < Error; end

  class BlockingError < Error; end

  # A worker process ended before it answered for its item.
  class WorkerDied < Error
    # @return [Process::Status, nil] how the process ended, where that is known
    attr_reader :status

    def initialize(message = "a worker process ended before it answered", status: nil)
      super(message)
      @status = status
    end
  end

  # Every candidate given to {Plait.first} failed.
  class AllFailed < Error
    # @return [Array<Exception>] in the order in which they failed
    attr_reader :errors

    def initialize(message = "every candidate failed", errors: [])
      super(message)
      @errors = errors
    end
  end
end
