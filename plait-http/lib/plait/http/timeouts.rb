# frozen_string_literal: true

module Plait
  module HTTP
    # The exceptions of a connection, in words.
    # @api private
    module WireComplaints
      MISUSES = {
        in_use: "is in use: one exchange at a time, and its answer isn't there yet",
        streaming: "has an answer whose body is not read to its end",
        expecting: "waits for the body of its last request: call resume",
        tunnel: "is a tunnel now: call detach",
        detach: "has no connection to give away",
        nothing_to_read: "has no answer that is being read: call open first"
      }.freeze
      # States in which no request can be sent => the misuse.
      WAITING = { streaming: :streaming, expecting: :expecting, tunnel: :tunnel }.freeze
      PHASES = {
        greeting: "did not begin to speak HTTP/2",
        send: "did not take the request",
        first_byte: "sent no answer",
        read: "did not go on with its answer"
      }.freeze
      # Phases whose time the option `read` does not set.
      OPTIONS = { greeting: :first_byte, first_byte: :first_byte, send: :write }.freeze

      private

      def misuse!(what) = raise(UsageError, "the connection to #{peer} #{MISUSES.fetch(what)}")

      def bad_target!(target)
        raise LocalProtocolError.new("#{Secrets.hide(target).inspect} can't be asked for: a target has visible ASCII " \
                                     "characters only, percent-encode the others (RFC 9112 §3.2)", rule: :target)
      end

      # @param whole [Boolean] whether the time for the whole is over
      def late(phase, timeouts, whole)
        kind = phase == :send ? WriteTimeout : ReadTimeout
        option = (timeouts || Timeouts::DEFAULT).option(whole ? :total : OPTIONS.fetch(phase, :read))
        seconds = format("%g", (Deadline.now - @started).round(3))
        kind.new("#{peer} #{PHASES.fetch(phase)} in time (#{seconds} s after the request began; #{option})",
                 endpoint: endpoint, retry_safe: sent? ? nil : true)
      end

      # @param failure [Exception, nil] of the socket; nil: the input ended
      def failed(failure)
        return closed_without_answer unless failure

        ConnectionClosed.new("the connection to #{peer} failed: #{failure.message}", endpoint: endpoint, retry_safe: !sent?)
      end

      def closed_here
        ConnectionClosed.new("the connection to #{peer} was closed on this side", endpoint: endpoint, retry_safe: !sent?)
      end

      def closed_before = ConnectionClosed.new("the connection to #{peer} is closed", endpoint: endpoint, retry_safe: true)

      def closed_without_answer = ConnectionClosed.new("#{peer} closed the connection without an answer", endpoint: endpoint)

      def forked = UsageError.new("the connection to #{peer} belongs to the parent process: open another one after a fork")

      def named(error) = error.exception("#{peer}: #{error.message}")

      def peer = endpoint || "the server"
    end
    private_constant :WireComplaints

    # How long the parts of an exchange may take, in seconds; nil: as long as it takes.
    class Timeouts
      # Seconds, where nothing else is said.
      DEFAULTS = { connect: 10.0, first_byte: 60.0, read: 60.0, total: nil }.freeze
      KEYS = [*DEFAULTS.keys, :write].freeze
      private_constant :KEYS

      class << self
        # @param spec [Timeouts, Numeric, Hash, nil] a number is for the whole; the rest of a Hash is taken from `base`
        # @param base [Timeouts]
        # @return [Timeouts]
        # @raise [UsageError]
        def from(spec, base = DEFAULT)
          case spec
          when Timeouts then spec
          when nil then base
          when Numeric then new(**base.to_h, total: spec)
          when Hash then new(**base.to_h, **spec)
          else raise UsageError, "timeout: takes seconds or a Hash of #{KEYS.join(", ")}, not #{spec.inspect}"
          end
        end

        # @return [Float, nil] the earlier one of two moments
        # @api private
        def earlier(one, other) = one && other ? [one, other].min : one || other
      end

      # @return [Float, nil] for a connection: its name resolved, the handshake of TLS done
      attr_reader :connect
      # @return [Float, nil] from the end of the request to the first byte of the answer
      attr_reader :first_byte
      # @return [Float, nil] between two received pieces; only `total` ends the answer of a peer that sends byte by byte
      attr_reader :read
      # @return [Float, nil] between two pieces that are sent; {read} where nothing else is said
      attr_reader :write
      # @return [Float, nil] for all of a call, with its redirects and retries
      attr_reader :total

      # @param seconds [Hash{Symbol => Numeric, nil}] that differ from DEFAULTS; also `write`
      # @raise [UsageError]
      def initialize(**seconds)
        @own = DEFAULTS.merge(UsageError.check_names(seconds, KEYS, "timeout:")).to_h do |name, value|
          [name, value.nil? ? nil : check(name, value)]
        end.freeze
        @connect, @first_byte, @read, @total = @own.values_at(:connect, :first_byte, :read, :total)
        @write = @own.fetch(:write, @read)
        freeze
      end

      # @return [Hash{Symbol => Float, nil}] `write` only where it was given
      def to_h = @own

      # @param name [Symbol]
      # @return [String] the option as it is written; total: where it has none, the time is up by a deadline
      # @api private
      def option(name)
        name = :read unless @own.key?(name)
        seconds = @own[name]
        seconds ? "timeout: {#{name}: #{seconds}}" : "deadline:"
      end

      # @param deadline [Float, nil] monotonic seconds
      # @param start [Float, nil] monotonic seconds; nil: now
      # @return [Float, nil] the earlier one of the deadline and the end of {total}
      # @api private
      def ends(deadline = nil, start = nil) = @total ? Timeouts.earlier(deadline, (start || Deadline.now) + @total) : deadline

      # @return [Boolean]
      def ==(other) = other.is_a?(Timeouts) && to_h == other.to_h
      alias eql? ==

      # @return [Integer]
      def hash = to_h.hash

      # @return [String]
      def inspect = "#<#{self.class} #{to_h.map { |name, seconds| "#{name}: #{seconds.inspect}" }.join(", ")}>"

      private

      def check(name, value)
        return value.to_f if value.is_a?(Numeric) && value.real? && value.to_f.finite? && value.positive?

        raise UsageError, "timeout: #{name} must be seconds above 0, or nil for no limit; not #{value.inspect}"
      end
    end

    # The time limits of DEFAULTS.
    Timeouts::DEFAULT = Timeouts.new
  end
end
