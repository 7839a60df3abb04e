# frozen_string_literal: true

require_relative "answer"
require_relative "open_file"
require "plait/mechanisms/base"

module Plait
  class Server
    # Ruby raises a signal without a handler in the main thread, wherever that is: on fibers, in an app. An app may raise
    # the same by itself, and must not end the server by that.
    module Signals
      class << self
        # @param error [SignalException] raised in the main thread
        # @return [Boolean] whether a signal raised it, and not the app, as far as Ruby says
        def sent?(error)
          return false if error.is_a?(Interrupt) && !error.message.empty? # Ruby gives one of its own no message

          unhandled?(error.signo)
        end

        private

        # Ruby names a signal's handler only when it is replaced. A signal that comes just then is sent again.
        def unhandled?(number)
          came = false
          before = trap(number) { came = true }
          before == "DEFAULT"
        rescue ArgumentError
          false # none that Ruby would raise
        ensure
          trap(number, before) if before
          Process.kill(number, Process.pid) if came
        end
      end
    end

    # What a streaming body writes to, and reads the request's body from (Rack 3, "Streaming Body").
    class Tunnel
      def initialize(answer, input)
        @answer = answer
        @input = input
      end

      # @return [String, nil] as IO#read
      def read(...) = @input.read(...)

      # @raise [IOError] when it was closed
      def write(*parts)
        raise IOError, "the stream is closed" if @closed

        parts.each { |part| @answer << part.to_s }
        parts.sum { |part| part.to_s.bytesize }
      end

      def <<(part)
        write(part)
        self
      end

      def flush
        @answer.flush
        self
      end

      def close_read = nil

      def close_write = close

      # The answer ends when the body's `call` returns.
      def close = (@closed = true) && nil

      def closed? = @closed || false
    end

    # What the core leaves to Ruby: answers that are more than a Hash and an Array, and errors of the app.
    class Reply
      def initialize(options)
        @options = options
        @storage = Mechanisms::State.storage
      end

      # After a request, where its app was called: the next one finds nothing of it.
      def forget
        Mechanisms::State.clear(Mechanisms::State::Own.current)
        Mechanisms::State.inherit(@storage)
      end

      # Sends an answer, piece by piece, and closes its body.
      # @param persistent [Boolean] whether the connection may be used again
      # @return [Boolean, nil] whether it can be; nil: the peer is gone
      # @raise [Exception] what the body raises
      def stream(exchange, env, response, persistent)
        status, headers, body = response
        check(headers, body)
        answer = Answer.new(exchange, env, Integer(status), headers, persistent: persistent, timeout: @options.write_timeout)
        send_body(answer, env, headers, body)
        persistent = answer.finish
        answered = true
        persistent
      rescue Answer::Lost
        nil # the peer is gone
      ensure
        close(body, env, answered)
      end

      # Lets others run while a peer takes what was sent of a body's pieces.
      def settle(exchange) = Answer.settle(exchange, exchange.write([]), @options.write_timeout)

      # @param error [Exception] that the app has raised
      def fail(env, error) = complain(env, error.full_message(highlight: false))

      # Reports that the thread of a request was ended: no error says so.
      def ended(env) = complain(env, "its thread was ended (Thread#kill, Thread.exit) before it was answered")

      # Calls what wants to know that the request is over, the last one first.
      def finished(callables, env, status, headers, error)
        callables.reverse_each do |callable|
          callable.call(env, status, headers, error)
        rescue StandardError => e
          self.fail(env, e)
        end
      end

      # Calls what Puma's convention has called behind an answer (`rack.after_reply`), the first one first.
      def replied(callables, env)
        callables.each do |callable|
          callable.call
        rescue StandardError => e
          self.fail(env, e)
        end
      end

      private

      # What lacks a method would else be named by that, and not by what it is. The core has looked at the status.
      def check(headers, body)
        raise TypeError, "headers are a Hash of names and values, not #{headers.inspect}" unless headers.respond_to?(:each)
        return if body.respond_to?(:each) || body.respond_to?(:call) || body.respond_to?(:to_path)

        raise TypeError, "a body has each, or call, and #{body.class} has neither"
      end

      # A complete answer is not cut by what fails behind it.
      def close(body, env, answered)
        body.close if body.respond_to?(:close)
      rescue Exception => e # rubocop:disable Lint/RescueException -- an app may raise any
        raise if !answered || e.is_a?(SignalException) || e.is_a?(Mechanisms::Interruption)

        self.fail(env, e)
      end

      def complain(env, text)
        errors = env["rack.errors"]
        errors.puts("#{env["REQUEST_METHOD"]} #{env["PATH_INFO"]}: #{text}")
        errors.flush
      end

      def send_body(answer, env, headers, body)
        return answer.flush if answer.bodiless?

        taker = taker_of(answer, headers, body)
        return answer.hand_over(taker) if taker

        file = file_of(body)
        return answer.send_file(file) if file
        return body.each { |part| answer << part } if body.respond_to?(:each)

        body.call(Tunnel.new(answer, env["rack.input"]))
      end

      def file_of(body)
        path = body.to_path if body.respond_to?(:to_path)
        OpenFile.call(path) if path
      end

      # With 101 a body that is called takes the connection too (Rack 3).
      def taker_of(answer, headers, body)
        hijack = headers["rack.hijack"] if headers.respond_to?(:key?)
        return hijack if hijack || !answer.switching?
        return body if body.respond_to?(:call)

        raise LocalProtocolError, "an answer of 101 needs a rack.hijack, or a body with call, for the connection"
      end
    end
    private_constant :Tunnel, :Signals, :Reply
  end
end
