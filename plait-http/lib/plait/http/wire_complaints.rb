# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/secrets"
require_relative "timeouts"

module Plait
  module HTTP
    # What a wire says when something fails: exceptions, for the wire to raise.
    module WireComplaints
      MISUSES = {
        in_use: "is in use: one exchange at a time, and its answer isn't there yet",
        streaming: "has an answer whose body is not read to its end",
        expecting: "waits for the body of its last request: call resume",
        tunnel: "is a tunnel now: call detach",
        detach: "has no connection to give away",
        nothing_to_read: "has no answer that is being read: call open first"
      }.freeze
      # States in which it can't do something else => what is wrong.
      WAITING = { streaming: :streaming, expecting: :expecting, tunnel: :tunnel }.freeze
      PHASES = {
        greeting: "did not begin to speak HTTP/2",
        send: "did not take the request",
        first_byte: "sent no answer",
        read: "stopped in the middle of its answer"
      }.freeze
      # Phases whose time the option `read` does not set.
      OPTIONS = { greeting: :first_byte, first_byte: :first_byte }.freeze

      private

      def misuse!(what) = raise(UsageError, "the connection to #{peer} #{MISUSES.fetch(what)}")

      def bad_target!(target)
        raise LocalProtocolError.new("#{Secrets.hide(target).inspect} can't be asked for: a target has visible ASCII " \
                                     "characters only, percent-encode the others (RFC 9112 §3.2)", rule: :target)
      end

      # @param timeouts [Timeouts, nil]
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

      def closed_before
        ConnectionClosed.new("the connection to #{peer} is closed", endpoint: endpoint, retry_safe: true)
      end

      def closed_without_answer
        ConnectionClosed.new("#{peer} closed the connection without an answer", endpoint: endpoint)
      end

      def forked = UsageError.new("the connection to #{peer} belongs to the parent process: open one of one's own after a fork")

      # @param error [RemoteProtocolError]
      def named(error) = error.exception("#{peer}: #{error.message}")

      def peer = endpoint || "the server"
    end
  end
end
