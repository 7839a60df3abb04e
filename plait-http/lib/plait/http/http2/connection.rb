# frozen_string_literal: true

require "plait/io/channel"
require "plait/protocols/http2/client"
require_relative "call"

module Plait
  module HTTP
    module HTTP2
      # One connection for many calls at once, from any threads and fibers. One call reads for all, one waits until it can send,
      # the others sleep. There is no other thread or fiber: an idle connection is a descriptor.
      #
      # A call that leaves (by an answer, a timeout, a kill, a cancellation) gives its work to one that sleeps. One that is broken
      # off resets its own stream, and the others go on.
      class Connection
        include WireComplaints

        # Reads without waiting, before other threads get their turn.
        TURN = 16
        # Whether a call reads and writes => what it waits for.
        MODES = { [true, true] => :read_write, [true, false] => :read, [false, true] => :write }.freeze

        attr_reader :endpoint, :limits, :session

        # @param io [Io::TLS::Socket, BasicSocket] connected, to a peer that has agreed to HTTP/2; the connection's own now
        # @param endpoint [Io::Endpoint, String, nil] for messages
        # @param phases [Io::Connector::Phases, nil] given to the first response
        # @param limits [Protocols::HTTP1::Limits, nil] body, head, headers and interim count
        def initialize(io, endpoint: nil, phases: nil, limits: nil)
          @channel = Io::Channel.new(io)
          @endpoint = endpoint
          @phases = phases
          @limits = limits || Protocols::HTTP1::Limits.new
          @session = Protocols::HTTP2::Client.new(self, head: @limits.head, clock: Deadline.method(:now))
          @lock = Mutex.new
          @sleeping = {}.compare_by_identity
          @touched = {}.compare_by_identity # calls for which something has changed
          @queue = []
          @generation = Native.fork_generation
        end

        def io = @channel.io

        # @return [Io::Connector::Phases, nil] how long it took to connect; the first time
        def take_phases = @phases.tap { @phases = nil }

        # @!group For its calls

        # Waits until the block says that it is done, which runs under the lock whenever something has changed.
        # @raise [ReadTimeout, WriteTimeout, PoolTimeout] PoolTimeout: the peer allows no more streams at once
        # @raise [ConnectionClosed] when the stream was reset or the connection ended; retry_safe? tells whether the peer has
        #   said that it did nothing
        # @raise [RemoteProtocolError, LimitExceeded, TruncatedError]
        def await(call, &done)
          rounds = 0
          until (mode = step(call, &done)) == :done
            @channel.wait(mode, call.patience) if mode
            sleep(0) if mode.nil? && ((rounds += 1) % TURN).zero?
          end
        rescue IOError => e
          raise complaint(call, e)
        ensure
          locked { hand_on(call) }
        end

        # Waits for a stream, and opens it in the order in which they came.
        # @param fields [Array<Array(String, String)>] see {RequestFields}
        # @param last [Boolean] whether there is no body
        def open(call, fields, last:)
          locked { @queue << call }
          await(call) do
            raise complaint(call, "takes no more requests: the peer goes away") if @session.ending?

            @queue.first.equal?(call) && @session.place? && begin_call(@queue.shift, fields, last)
          end
        end

        # Forgets a call that is over, or whose caller has gone.
        def leave(call)
          return abandon if foreign?

          locked do
            @queue.delete(call)
            @session.reset(call.stream, :cancel) if call.stream && !@over
            push
            hand_on(call)
          end
        end

        # @return [Boolean] whether another request can be made on it
        def usable? = !foreign? && @over.nil? && !@session.ending?

        # @return [Boolean] whether the peer has said that it takes no more requests here, which it may at any time
        def sent_away? = @session.leaving?

        # Looks at it, with a system call or two, unless a call reads: takes the bytes that are there, answers pings.
        # @return [Boolean] whether it is of no more use
        def stale?
          return true if foreign?

          locked do
            nil while @reader.nil? && !@over && take_what_is_there
            !usable?
          end
        end

        # @return [Integer] requests under way
        def size = @session.size

        def closed? = !@over.nil?

        # @return [Boolean] whether it is the parent process's
        def foreign? = @generation != Native.fork_generation

        # Sends GOAWAY and closes it. Its calls raise {ConnectionClosed}.
        def close = foreign? ? abandon : locked { end_all("was closed on this side") }

        # Closes our descriptor of a connection that another process goes on using: the work of its threads is half done here.
        def abandon
          @over = "is the parent process's"
          @channel.abandon
        end

        def inspect = "#<#{self.class} #{@endpoint} #{closed? ? "closed" : "#{size} under way"}>"

        # @!group Events of the session, under the lock

        def head(stream, fields, last) = deliver(stream.owner) { |answer| answer.head(fields, last) }

        # A body that is not streamed is taken at once.
        def data(stream, bytes)
          call = stream.owner
          deliver(call) { |answer| answer.data(bytes) }
          @session.taken(stream, bytes.bytesize) unless call.streamed
        end

        def finish(stream, _trailers) = deliver(stream.owner, &:finish)

        # After the whole answer the peer may say that it wants no more of the request (RFC 9113 §8.1).
        def reset(stream, reason)
          call = stream.owner
          return if reason.nil? || call.over?

          @touched[call] = true
          call.fail(reason.is_a?(Symbol) ? call.turned_away(reason) : call.blame(reason))
        end

        # More may be sent, which one call may wait for, or each.
        def granted(stream) = stream ? @touched[stream.owner] = true : wake(&:sending?)

        # RFC 9113 §6.8
        def go_away(last, error, words)
          about = "the peer goes away (#{error.upcase}#{": #{words.inspect[0, 200]}" unless words.empty?})"
          @session.streams.each do |stream|
            next if stream.id <= last

            @touched[stream.owner] = true
            stream.owner.fail(stream.owner.closed("#{about}, and nothing of it was done", retry_safe: true))
          end
        end

        private

        def begin_call(call, fields, last)
          call.stream = @session.open(call, fields, last: last)
          call.opened
          true
        end

        def deliver(call)
          @touched[call] = true
          yield call.answer unless call.over?
          call.received
        rescue RemoteProtocolError => e
          call.fail(call.blame(e))
        end

        # Interrupts are held back where the session is between two states. Nothing in there waits.
        def locked(&block) = Uninterruptible.holding(@lock, &block)

        # @return [Symbol, nil] :done, what to wait for (:read, :write, :read_write), or nil: look again
        def step(call, &done)
          @lock.synchronize do
            ready = Uninterruptible.run { ready?(call, &done) }
            next ready if ready == :done
            next if ready == :again

            work_for(call) || sleep_on(call)
          end
        end

        def ready?(call)
          call.check!
          # A whole answer is had even from a connection that is over.
          return push || :done if (@over.nil? || call.answer.complete?) && yield
          raise complaint(call, @over) if @over

          call.check_time!
          push
          :again if reader?(call) && take_what_is_there
        end

        def reader?(call) = @reader.nil? || @reader.equal?(call)

        # @return [Boolean] whether there was anything
        def take_what_is_there
          bytes = @channel.receive or return false
          @session.receive(bytes)
          push
          wake_touched
          true
        rescue RemoteProtocolError, EOFError, *Io::Channel::BREAKS => e
          push
          end_all(e)
          true
        end

        # Sends without waiting. A peer that has stopped reading may still send an answer.
        def push
          congested = @session.congested?
          @channel.transmit(@session.output) unless @session.output.empty? || @deaf
          @session.output.clear if @deaf
          wake(&:sending?) if congested && !@session.congested?
          nil
        rescue *Io::Channel::BREAKS
          @deaf = true
          @session.output.clear
          nil
        end

        def work_for(call)
          @reader ||= call
          @writer = nil if @writer.equal?(call)
          @writer ||= call unless @session.output.empty?
          MODES[[@reader.equal?(call), @writer.equal?(call)]]
        end

        def sleep_on(call)
          @sleeping[call] = true
          call.changed.wait(@lock, call.patience)
          nil
        ensure
          @sleeping.delete(call)
        end

        # Gives the work of a call to one that sleeps.
        def hand_on(call)
          put_down(call)
          return release if @over

          @sleeping.each_key.first&.changed&.signal if idle?
          @queue.first&.changed&.signal
          # The peer goes away, and all calls have their answers.
          end_all("is closed: the peer goes away") if @session.ending? && @session.idle?
        end

        def put_down(call)
          @reader = nil if @reader.equal?(call)
          @writer = nil if @writer.equal?(call)
        end

        # @return [Boolean] whether no call reads, or none sends the output
        def idle? = @reader.nil? || (@writer.nil? && !@session.output.empty?)

        def wake_touched
          @touched.each_key { |call| call.changed.signal }
          @touched.clear
          @queue.first&.changed&.signal
        end

        def wake(&which) = @sleeping.each_key.select(&which).each { |call| call.changed.signal }

        def end_all(reason)
          return if @over

          @session.drain
          push
          @over = reason
          @sleeping.each_key { |call| call.changed.signal }
          @reader || @writer ? @channel.shut : release
        end

        # The last call that waits on the descriptor closes it.
        def release
          return if @reader || @writer || @released

          @released = true
          @channel.close
        end

        # @param reason [String, Exception] why the connection is of no more use
        # @return [Exception] for that call
        def complaint(call, reason)
          case reason
          when RemoteProtocolError then call.blame(reason)
          when EOFError then call.closed("#{peer} closed the connection before the answer was complete")
          when Exception then call.closed("the connection to #{peer} failed: #{reason.message}")
          else call.closed("the connection to #{peer} #{reason}")
          end
        end
      end
    end
  end
end
