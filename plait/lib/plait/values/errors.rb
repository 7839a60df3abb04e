# frozen_string_literal: true

# Everything Plait raises, in one tree:
#
#   Plait::Error
#   ├── UsageError               the call itself is wrong; nothing was run
#   │   ├── UnknownMechanism
#   │   └── DB::ConnectionInUse   a second fiber or thread on a connection that is in the middle of a call
#   ├── UnsupportedError         this machine, Ruby or mechanism can't; the message says why, and a way out
#   │   ├── UnmarshalableError   a value can't travel between processes
#   │   ├── UnshareableError     a block or a value can't be shared with a ractor
#   │   └── Lab::FreshProcess::ForkRefused   the system gives no new process
#   ├── TimeoutError             a wait lasted longer than it was given; a retry may help
#   │   ├── DeadlineExceeded     the time given to the whole is over; a retry won't help
#   │   ├── ConnectTimeout *     no connection in time: its #phase is :resolve, :connect or :tls
#   │   ├── PoolTimeout *        no connection of the pool came free in time
#   │   ├── ReadTimeout *        the peer sent nothing, or not enough, in time
#   │   └── WriteTimeout *       the peer took nothing, or not all, in time
#   ├── ConnectionError *        there is no connection, or it is of no more use
#   │   ├── ConnectError *       it could not be made; nothing was sent
#   │   │   └── ResolveError *   the name has no address
#   │   ├── TLSError *           the handshake failed; nothing was sent
#   │   │   └── CertificateError *   the peer's certificate is not the right one: its #reason is :expired, :wrong_name …
#   │   ├── ConnectionClosed *   it ended, from either side, before all was received or sent
#   │   └── ListenError *        no peer can connect to us there
#   ├── CancelledError           the result is no longer needed
#   ├── Unrepeatable             the operation is done, or may be: no retries: of Plait's repeats it
#   ├── WorkerDied               a worker process ended before it answered
#   ├── OffloadRefused           the offload pool is closed
#   ├── BlockingError            a call blocked the event loop (Scheduler.new(blocking: :raise))
#   ├── LocalProtocolError       our message would break the protocol; nothing of it was sent
#   ├── RemoteProtocolError      the peer's message breaks the protocol; the connection is of no more use
#   │   ├── LimitExceeded        it is larger than an option allows; the message names the option
#   │   └── TruncatedError       it ended before it was complete
#   ├── AllFailed                Plait.first: no candidate succeeded
#   ├── RemoteError              the peer of a call has answered with an error: its #error is the peer's
#   ├── HTTPError                the server answered that it has no success for us: its #response is the answer
#   ├── RedirectError            a redirect can't be followed: its #response is the redirect
#   │   └── TooManyRedirects     there are more of them than the option redirects: allows
#   ├── WriteError               a report can't be written; the measurements are still there
#   │
#   │   Errors of one room stand in its files:
#   ├── DB::RolledBack                          a transaction that no longer exists was used; nothing of it was done
#   ├── DB::CommitUnknown                       (Unrepeatable) COMMIT was sent, and no answer came: done or not
#   ├── DB::CommittedLate                       (Unrepeatable) a transaction is done, and an interrupt came with its answer
#   ├── Lab::FreshProcess::Failed               a trial has no result: it raised, or its process died or hung
#   ├── Suites::Companion::StartError           a server of the lab's own did not come up
#   ├── Suites::UnreachableOrigin               the site of --url does not answer with a success
#   └── Suites::Http::EmbeddedTarget::WrongAnswer   the embedded origin gave an answer that is not the request's
#
# Errors with a * are {ConnectionFailure}s: they name the endpoint and say whether a retry is safe.
module Plait
  class Error < StandardError; end

  class UsageError < Error
    # @param given [Hash{Symbol => Object}] options
    # @param names [Array<Symbol>] that are taken
    # @param subject [String] that takes them, for the message
    # @return [Hash] given
    # @raise [UsageError]
    # @api private
    def self.check_names(given, names, subject)
      unknown = given.keys - names
      return given if unknown.empty?

      raise self, "#{subject} doesn't know #{unknown.map(&:inspect).join(", ")}; it takes #{names.join(", ")}"
    end
  end

  class UnknownMechanism < UsageError; end

  class UnsupportedError < Error
    # Where the system gives no thread at all, and not only no further one.
    # @param purpose [String] for the message
    # @param error [ThreadError] Ruby's own
    # @return [UnsupportedError]
    # @api private
    def self.no_thread(purpose, error)
      new("the system gives no thread for #{purpose} (#{error.message}); see `ulimit -u`, or the limit of processes of the " \
          "container")
    end
  end

  class UnmarshalableError < UnsupportedError; end

  class UnshareableError < UnsupportedError; end

  class TimeoutError < Error; end

  class DeadlineExceeded < TimeoutError; end

  # Data of a connection's error, in addition to its message.
  module ConnectionFailure
    # @return [String, nil] the peer: "tcp://example.org:80", "unix:///run/app.sock"
    attr_reader :endpoint

    # @param retry_safe [Boolean, nil] nil: as for the class
    def initialize(message = nil, endpoint: nil, retry_safe: nil)
      super(message)
      @endpoint = endpoint&.to_s
      @retry_safe = retry_safe
    end

    # @return [Boolean] whether the peer can't have acted on what was asked, so that asking again does nothing twice. It
    #   does not say that asking again will help.
    def retry_safe? = @retry_safe.nil? ? unsent? : @retry_safe

    private

    # @return [Boolean] whether an error of this class comes before anything is sent
    def unsent? = false
  end

  # A {ConnectionFailure} that comes before anything is sent.
  module Unsent
    include ConnectionFailure

    private

    def unsent? = true
  end

  # No connection in time.
  class ConnectTimeout < TimeoutError
    include Unsent

    # @return [Symbol, nil] the slow step: :resolve, :connect or :tls
    attr_reader :phase

    def initialize(message = nil, phase: nil, **about)
      super(message, **about)
      @phase = phase
    end
  end

  # No connection of the pool came free in time.
  class PoolTimeout < TimeoutError
    include Unsent
  end

  class ReadTimeout < TimeoutError
    include ConnectionFailure
  end

  class WriteTimeout < TimeoutError
    include ConnectionFailure
  end

  class ConnectionError < Error
    include ConnectionFailure
  end

  # A connection could not be made.
  class ConnectError < ConnectionError
    include Unsent

    # @return [Array<Exception>] why, for each address that was tried
    attr_reader :causes

    def initialize(message = nil, causes: [], **about)
      super(message, **about)
      @causes = causes
    end
  end

  class ResolveError < ConnectError; end

  # The handshake failed.
  class TLSError < ConnectionError
    include Unsent
  end

  # The certificate of the peer is not the right one.
  class CertificateError < TLSError
    # @return [Symbol, nil] :expired, :not_yet_valid, :self_signed, :unknown_issuer, :wrong_name, :revoked or :rejected
    attr_reader :reason

    def initialize(message = nil, reason: nil, **about)
      super(message, **about)
      @reason = reason
    end
  end

  class ConnectionClosed < ConnectionError; end

  class ListenError < ConnectionError; end

  class CancelledError < Error
    def initialize(message = "cancelled: its result is no longer needed") = super
  end

  # Of an exception that ends a block from outside, and becomes an error of the thread that waits for the block.
  module Replaceable
    # @return [Error, nil] that error, where the block knows better: a COMMIT that was cut may be done
    attr_accessor :instead
  end
  private_constant :Unsent, :Replaceable

  # The operation is done, or may be done: a repetition could do it twice.
  class Unrepeatable < Error
    # @return [false]
    def retry_safe? = false
  end

  # A worker process ended before it answered for its item.
  class WorkerDied < Error
    # @return [Process::Status, nil] how the process ended, where that is known
    attr_reader :status

    def initialize(message = "a worker process ended before it answered", status: nil)
      super(message)
      @status = status
    end
  end

  class OffloadRefused < Error; end

  class BlockingError < Error; end

  # A message of ours, or a step in a protocol's state, would break the protocol.
  class LocalProtocolError < Error
    # @return [Symbol, nil] the rule that would be broken, where it has a name
    attr_reader :rule

    def initialize(message = "this can't be sent", rule: nil)
      super(message)
      @rule = rule
    end
  end

  # The peer's message breaks the protocol.
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

    # @return [Boolean] whether the peer can't have acted on what was asked, so that asking again does nothing twice
    def retry_safe? = @retry_safe || false

    # @api private
    attr_writer :retry_safe
  end

  # The peer's message is larger than an option allows.
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

  # The peer's message ended before it was complete.
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

  # The peer of a remote call has run it, or refused to, and has answered with an error. What it sent is kept as it is; what
  # peers commonly send (a String; [code, message, data]; a Hash with these keys) is also given in parts.
  class RemoteError < Error
    # @return [Object] the peer's
    attr_reader :error
    # @return [String, Symbol, nil] of the call
    attr_reader :method_name
    # @return [String, nil] the peer
    attr_reader :endpoint

    # @param error [Object]
    # @param about [Object, nil] sent in the place of the result: with a named error, more about it
    # @param method_name [String, Symbol, nil]
    # @param endpoint [#to_s, nil]
    def initialize(error = nil, about = nil, method_name: nil, endpoint: nil)
      @error = error
      @about = about
      @method_name = method_name
      @endpoint = endpoint&.to_s
      super(description)
    end

    # @return [Object, nil] a number or a name
    def code = part(0, "code")

    # @return [Object, nil] further data
    def data = part(2, "data") || @about

    # @return [false] it may have run
    def retry_safe? = false

    # @return [Array(Object, Object)] the error, and what goes in the place of the result, as they are passed on to
    #   our own caller
    def to_rpc_error = [@error, @about]

    private

    def part(index, key)
      case @error
      when Array then @error[index] if @error.size > 1
      when Hash then @error[key] || @error[key.to_sym]
      end
    end

    def description
      said = @error.is_a?(String) ? @error : part(1, "message")
      said = [@error, *@about].join(": ") if @about && @error.is_a?(String)
      said.is_a?(String) ? said : "the peer answered with an error: #{@error.inspect}"
    end
  end

  # An answer whose status is no success, where the caller has said that this is an error.
  class HTTPError < Error
    attr_reader :response

    def initialize(message = "the server's answer is no success", response: nil)
      super(message)
      @response = response
    end

    # @return [Integer, nil]
    def status = @response&.status
  end

  # A redirect that can't be followed.
  class RedirectError < Error
    # @return [HTTP::Response, nil] the redirect
    attr_reader :response

    def initialize(message = "a redirect can't be followed", response: nil)
      super(message)
      @response = response
    end
  end

  class TooManyRedirects < RedirectError; end

  # A report could not be written. Nothing that is in it is lost: the caller still holds it.
  class WriteError < Error
    # @return [String, nil]
    attr_reader :path

    def initialize(message = "a report can't be written", path: nil)
      super(message)
      @path = path
    end
  end

  # Why the system has refused something, in its own words. Ruby puts behind them which of its methods was called, and the path,
  # which a sentence for people has already.
  module SystemReason
    # @return [String] "No such file or directory"
    def self.of(error) = SystemCallError.new(nil, error.errno).message
  end
  private_constant :SystemReason
end
