# frozen_string_literal: true

require_relative "frames"
require_relative "lane"
require_relative "session"
require "plait/io/channel"
require "plait/io/reactor"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  class Server
    module HTTP2
      # One peer that speaks HTTP/2, from its greeting to its end: one thread or fiber does all of it, however many streams
      # there are.
      class Connection
        # Times that the peer is read before others get their turn.
        TURN = 8
        # Connections to the core without a request that are kept for the next ones.
        KEPT = 16
        # Seconds between two looks at streams that wait for their peer.
        LOOK = 1
        # Seconds, and bytes, that a peer may go on sending after GOAWAY: a connection closed with bytes unread is reset, and
        # the peer would lose the last frames.
        LINGER = 1
        LINGERED = 256 * 1024

        # @param io [BasicSocket, Io::TLS::Socket] the connection's own now
        # @param options [Options]
        # @yieldreturn [UNIXSocket] a new connection to the core
        def initialize(io, options, &bring)
          @channel = Io::Channel.new(io)
          @options = options
          @bring = bring
          @session = Session.new(self, options.limits.head)
          @reactor = Io::Reactor.new
          @lanes = {}
          @free = {}
          @moved = @idle = @assembled = @looked = Deadline.now
        end

        # Serves until the peer leaves, or takes too long, or {drain} has let it end.
        # @return [void]
        def run
          transmit
          @reactor.add(@channel.io, self, @armed = mode)
          turn until over?
          say_goodbye unless @gone
        rescue Violation
          say_goodbye
        rescue *Io::Channel::BREAKS
          nil # it has left
        rescue StandardError
          @session.give_up # a mistake of ours: it ends this connection, and not the server
          say_goodbye
        ensure
          close
        end

        # Has it take no more requests, and end with those it has. From any thread or fiber.
        # @return [void]
        def drain
          @draining = true
          @reactor.wake
        rescue IOError
          nil # it has ended
        end

        # @return [Integer] its own ends of connections to the core
        def lanes = @lanes.size + @free.size

        # @!group What its session tells it

        # @param stream [Stream]
        # @param head [RequestHead]
        # @return [void]
        def request(stream, head)
          return @session.send_head(stream, [[":status", "501"], %w[content-length 0]], last: true) if head.connect?

          lane = free_lane || new_lane
          @lanes[stream.id] = lane
          lane.begin(stream, head)
        rescue SystemCallError
          @session.reset(stream, :refused_stream) # there is no descriptor left
        end

        # @return [void]
        def data(stream, bytes)
          lane = @lanes[stream.id]
          lane ? lane.send_data(bytes) : @session.taken(stream, bytes.bytesize)
        end

        # @return [void]
        def finish(stream, trailers) = @lanes[stream.id]&.finish(trailers)

        # @return [void]
        def reset(stream)
          lane = @lanes.delete(stream.id) or return
          lane.leave
          discard(lane)
        end

        # @param stream [Stream, nil]
        # @return [void]
        def granted(stream)
          return @look = true unless stream

          lane = @lanes[stream.id]
          serve(lane) if lane
        end

        def inspect = "#<#{self.class} #{@lanes.size} streams>"

        private

        def turn
          arm
          tokens = @reactor.wait(deadline)
          tokens.each { |token| token.equal?(self) ? @armed = nil : ready(token) }
          receive if @armed.nil? || @more
          look_at_times
          @session.drain if @draining
          look_at_all if @look
          transmit
        end

        def over? = @over || (@session.ending? && @session.idle? && @session.output.empty?)

        # ---- the peer ----

        # Of a peer that takes nothing nothing is taken.
        def mode = (@session.congested? ? 0 : Lane::READABLE) | (@session.output.empty? ? 0 : Lane::WRITABLE)

        # What is decrypted already makes no descriptor readable; so it is read until nothing is there.
        def receive
          return if @session.congested?

          @more = false
          TURN.times do
            bytes = @channel.receive or return
            @session.receive(bytes) { sleep(0) }
          end
          @more = true
        end

        def transmit
          before = @session.output.bytesize
          @channel.transmit(@session.output)
          @moved = Deadline.now if @session.output.bytesize < before
          @look = true if before >= Session::CONGESTED && !@session.congested?
        end

        # ---- waiting ----

        def arm
          wanted = mode
          @reactor.rearm(@channel.io, @armed = wanted) unless @armed == wanted
          @lanes.each_value { |lane| arm_lane(lane) }
        end

        def deadline
          return Deadline.after(0) if @look || (@more && !@session.congested?)
          return Deadline.after(LOOK) if waiting?

          @session.idle? ? patience && Deadline.new(@idle + patience) : nil
        end

        def waiting? = !@session.output.empty? || @session.assembling? || @lanes.each_value.any?(&:held?)

        def close
          [*@lanes.values, *@free.keys].each(&:close)
          @reactor.close
          @channel.close
        end

        # ---- lanes: connections to the core, one a stream ----

        def free_lane
          _, lane = @free.shift
          return lane if lane.nil? || !lane.stale?

          discard(lane)
          free_lane
        rescue *Lane::ENDS
          discard(lane)
          free_lane
        end

        def new_lane
          lane = Lane.new(@bring.call, @session)
          @reactor.add(lane.io, lane, lane.armed = Lane::READABLE)
          lane
        end

        # On a lane without a stream nothing comes but its end.
        def ready(lane)
          lane.armed = nil
          lane.stream ? serve(lane) : discard(lane)
        end

        def serve(lane)
          lane.move
          return unless lane.ended? && lane.stream

          @lanes.delete(lane.stream.id)
          lane.leave
          lane.reusable? && @free.size < KEPT && !@draining ? keep(lane) : discard(lane)
        end

        def keep(lane)
          @free[lane] = lane
          arm_lane(lane)
        end

        def discard(lane)
          @free.delete(lane)
          return if lane.io.closed?

          @reactor.remove(lane.io)
          lane.close
        end

        # Each has its turn: who had one is the last to have the next.
        def look_at_all
          @look = false
          @lanes.to_a.each do |id, lane|
            break unless @session.open?

            @lanes[id] = @lanes.delete(id)
            serve(lane)
          end
        end

        def arm_lane(lane)
          wanted = lane.interest
          return if wanted.zero? || lane.armed == wanted

          @reactor.rearm(lane.io, lane.armed = wanted)
        end

        # ---- timeouts ----

        # Seconds for the greeting, and between two requests.
        def patience = @session.greeted? ? @options.idle_timeout : @options.head_timeout

        def look_at_times
          now = Deadline.now
          @idle = now unless @session.idle?
          @moved = now if @session.output.empty?
          @assembled = now unless @session.assembling?
          give_up if late?(@moved, @options.write_timeout, now) || late?(@assembled, @options.head_timeout, now)
          end_idle if late?(@idle, patience, now)
          look_at_lanes(now) if late?(@looked, LOOK, now)
        end

        def late?(since, seconds, now) = !seconds.nil? && now - since >= seconds

        # The peer is gone.
        def give_up = @over = @gone = true

        def end_idle = @session.greeted? ? @session.drain : give_up

        # The core waits for the peer as long, and would not notice what is stuck here.
        def look_at_lanes(now)
          @looked = now
          late = @lanes.values.select { |lane| lane.stalled?(now, @options.write_timeout) }
          late.each { |lane| @session.reset(lane.stream, :cancel) }
        end

        # ---- the end ----

        def say_goodbye
          deadline = Deadline.after(LINGER)
          until @session.output.empty? || deadline.expired?
            transmit
            @channel.wait(:write, deadline.remaining) unless @session.output.empty?
          end
          @channel.end_writing
          linger(deadline)
        rescue *Io::Channel::BREAKS
          nil # it did not want to know
        end

        def linger(deadline)
          left = LINGERED
          until deadline.expired? || left.negative?
            bytes = @channel.receive
            bytes ? left -= bytes.bytesize : @channel.wait(:read, deadline.remaining)
          end
        end
      end
    end
  end
end
