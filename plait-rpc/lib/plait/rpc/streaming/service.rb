# frozen_string_literal: true

require "plait/values/errors"
require_relative "../callable"
require_relative "../datagram/reply"
require_relative "../refusal"
require_relative "../stream"
require_relative "../streaming"
require_relative "inflow"
require_relative "outflow"

module Plait
  module RPC
    module Streaming
      # The side that is called: what the reserved requests do, for all connections.
      class Service
        # Calls with streams at once, of one connection: each has a thread or a fiber of its own.
        MOST = 64

        # A reserved request, which needs to know whose it is.
        class Request < Callable
          # @param name [String]
          # @param service [Service]
          # @param method [Symbol] its first argument is the {Incoming}
          def initialize(name, service, method)
            super(name, service, method, service.method(method).parameters.drop(1))
            @service = service
            @to = method
          end

          # @return [Object]
          def call(arguments, incoming) = @service.__send__(@to, incoming, *arguments)
        end
        private_constant :Request

        # One call that is under way.
        Run = Struct.new(:outflow, :inflow, :begun) do
          def close(error)
            outflow.close
            inflow.close(error)
          end
        end
        private_constant :Run

        # @param handler [Handler] whose methods are called
        def initialize(handler)
          @handler = handler
          @lock = Mutex.new
          @runs = {}.compare_by_identity
        end

        # @return [Hash{String => Callable}]
        def requests
          { OPEN => :open, CALL => :call, NEXT => :next, PUSH => :push, ABORT => :abort, CLOSE => :close }
            .to_h { |name, method| [name, Request.new(name, self, method)] }
        end

        # The peer is gone: who writes for it ends, and who reads fails.
        # @return [void]
        def closed(connection)
          runs = @lock.synchronize { @runs.delete(connection) }
          error = ConnectionClosed.new("the caller is gone before the last chunk", endpoint: connection.endpoint)
          runs&.each_value { |run| run.close(error) }
        end

        # @return [Integer, false] the version that is known here; false: there are too many
        def open(incoming, version, id)
          raise UnsupportedError, "streams need a connection: this came by a datagram" if incoming.connection.is_a?(Datagram::Reply)

          version != VERSION || enter(incoming, id) ? VERSION : false
        end

        # Runs the method; where its result is a stream it stays until all of it is written, or nobody wants it any more.
        def call(incoming, id, method, arguments, index = nil)
          run = take_run(incoming, id)
          value = run_method(incoming, method, with_stream(arguments, index, run))
          produced = stream?(value)
          produced ? produce(incoming, id, run, value) : value
        ensure
          run&.inflow&.close
          forget(incoming.connection, id) if run && !produced
        end

        # @return [Array(Array, Boolean), Delayed]
        def next(incoming, id)
          find_run!(incoming, id).outflow.take
        end

        # @return [Boolean, Delayed]
        def push(incoming, id, chunks, last)
          run = find_run(incoming, id)
          run ? run.inflow.push(chunks, last) : false
        end

        # @return [nil]
        def abort(incoming, id, message)
          error = RemoteError.new(message, method_name: incoming.method_name, endpoint: incoming.connection.endpoint)
          find_run(incoming, id)&.inflow&.abort(error)
          nil
        end

        # @return [nil]
        def close(incoming, id)
          run = find_run(incoming, id) or return
          run.close(CancelledError.new("the caller has given up the call"))
          forget(incoming.connection, id)
        end

        private

        def find(method) = method.is_a?(String) && !method.start_with?("rpc.stream") ? @handler.find(method) : nil

        def take_run(incoming, id)
          run = find_run!(incoming, id)
          @lock.synchronize do
            raise UsageError, "the call #{id.inspect} has begun already" if run.begun

            run.begun = true
          end
          run
        end

        # @return [Object] its result, or what nobody hears, since the call is answered
        def run_method(incoming, method, arguments)
          callable = find(method) or return incoming.fail(Refusal.new(:no_method, "there is no method #{method.inspect}"))

          refusal = callable.refusal(arguments)
          return incoming.fail(refusal) if refusal

          callable.call(arguments, incoming) { |early| incoming.respond(early) }
        end

        def stream?(value) = value.is_a?(Enumerator) || value.is_a?(Stream)

        def with_stream(arguments, index, run)
          return arguments.tap { run.inflow.close } unless index
          raise UsageError, "no argument has the index #{index.inspect}" unless (0...arguments.size).cover?(index)

          arguments.dup.tap { |list| list[index] = Stream.new(run.inflow) }
        end

        # The answer is: it comes in chunks.
        def produce(incoming, id, run, value)
          incoming.respond([MARK, id])
          value.each { |chunk| break unless run.outflow.write(chunk) }
          run.outflow.finish
          done = true
        rescue StandardError, SystemStackError => e
          done = true
          run.outflow.finish(e)
          raise # for on_error; the call itself is answered
        ensure
          run.outflow.finish(CancelledError.new("the method was ended before its last chunk")) unless done
        end

        def enter(incoming, id)
          connection = incoming.connection
          outflow = Outflow.new(aside(incoming)) { forget(connection, id) }
          inflow = Inflow.new(aside(incoming))
          @lock.synchronize do
            runs = @runs[connection] ||= {}
            next if runs.size >= MOST
            raise UsageError, "a call with streams of that number is under way" if runs.key?(id)

            connection.streaming = runs.size + 1
            runs[id] = Run.new(outflow, inflow)
          end
        end

        def aside(incoming)
          dispatcher = incoming.dispatcher
          return ->(&wait) { wait.call } unless dispatcher.respond_to?(:aside)

          ->(&wait) { dispatcher.aside(incoming.connection, &wait) }
        end

        def find_run!(incoming, id)
          find_run(incoming, id) or raise UsageError, "there is no stream #{id.inspect}, or no more of it"
        end

        def find_run(incoming, id) = @lock.synchronize { @runs[incoming.connection]&.fetch(id, nil) }

        def forget(connection, id)
          @lock.synchronize do
            runs = @runs[connection] or next
            runs.delete(id)
            connection.streaming = runs.size if runs.any?
            next if runs.any?

            @runs.delete(connection)
            connection.streaming = nil
          end
        end
      end
    end
  end
end
