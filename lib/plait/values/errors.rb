# frozen_string_literal: true

# Everything Plait raises, in one tree:
#
#   Plait::Error
#   ├── UsageError               the call itself is wrong; nothing was run
#   │   └── UnknownMechanism
#   ├── UnsupportedError         this machine, Ruby or mechanism can't; the message says why and what to do
#   │   ├── UnmarshalableError   a value can't travel between processes
#   │   ├── UnshareableError     a block or a value can't be shared with a ractor
#   │   └── Lab::FreshProcess::ForkRefused   the system gives no new process
#   ├── TimeoutError             a wait lasted longer than it was given; a retry may help
#   │   └── DeadlineExceeded     the time given to the whole is over; a retry won't help
#   ├── CancelledError           somebody no longer needs the result
#   ├── WorkerDied               a worker process ended before it answered
#   ├── OffloadRefused           the offload pool is closed
#   ├── BlockingError            a call blocked the event loop (Scheduler.new(blocking: :raise))
#   ├── LocalProtocolError       what we were about to send breaks the protocol; nothing of it was sent
#   ├── RemoteProtocolError      what the peer sent breaks the protocol; the connection is of no more use
#   │   ├── LimitExceeded        it is larger than an option allows; the message names the option
#   │   └── TruncatedError       it ended before it was complete
#   ├── AllFailed                Plait.first: no candidate succeeded
#   │
#   │   Those of one room stand in its files:
#   ├── Lab::WriteError          a report can't be written; what was measured is still there
#   ├── Lab::FreshProcess::Failed               a trial has no result: it raised, or its process died or hung
#   ├── Suites::Origin::StartError              the embedded origin did not come up
#   ├── Suites::UnreachableOrigin               the site of --url does not answer with a success
#   └── Suites::Http::EmbeddedTarget::WrongAnswer   the embedded origin gave an answer that is not the request's
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

  # What we were about to send, or to do with a protocol's state, breaks the protocol.
  class LocalProtocolError < Error
    # @return [Symbol, nil] the rule that would be broken, where it has a name
    attr_reader :rule

    def initialize(message = "this can't be sent", rule: nil)
      super(message)
      @rule = rule
    end
  end

  # What the peer has sent breaks the protocol.
  class RemoteProtocolError < Error
    # @return [Symbol, nil] the rule that was broken, such as :bare_cr
    attr_reader :rule
    # @return [String, nil] where the rule is written, such as "RFC 9112 §2.2"
    attr_reader :section
    # @return [Integer, nil] bytes of the message before the one that broke it
    attr_reader :offset
    # @return [Integer, nil] the HTTP status with which a server answers
    attr_reader :status

    def initialize(message = "the peer broke the protocol", rule: nil, section: nil, offset: nil, status: nil)
      super(message)
      @rule = rule
      @section = section
      @offset = offset
      @status = status
    end
  end

  # What the peer has sent is larger than we allow.
  class LimitExceeded < RemoteProtocolError
    # @return [Symbol, nil] the option that raises the limit
    attr_reader :limit
    # @return [Integer, nil] its value now
    attr_reader :maximum

    def initialize(message = "the peer sent more than is allowed", limit: nil, maximum: nil, **place)
      super(message, **place)
      @limit = limit
      @maximum = maximum
    end
  end

  # What the peer has sent ended before it was complete.
  class TruncatedError < RemoteProtocolError; end

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
