# frozen_string_literal: true

require_relative "slot"
require "plait/io/channel"
require "plait/io/reactor"
require "plait/protocols/http2/server"

module Plait
  class Server
    # HTTP/2 on the server's side: each stream becomes a connection of HTTP/1.1 to the core, which so is one engine for both, with
    # one set of bounds.
    module HTTP2
      # One peer that speaks HTTP/2, from its greeting to its end: one thread or fiber does all of it, however many streams
      # there are.
      class Connection
        # Times that the peer is read before others get their turn.
        TURN = 8
        # Connections to the core without a request that are kept for the next ones: of a busy peer, and of one that was idle
        # for a moment. A new one costs as much as three requests.
        KEPT = 128
        KEPT_IDLE = 16
        # Seconds between two looks at streams that wait for their peer.
        LOOK = 1
        # Seconds, and bytes, that a peer may go on sending after GOAWAY: a connection closed with bytes unread is reset, and
        # the peer would lose the last frames.
        LINGER = 1
        LINGERED = 256 * 1024

        # @param io [BasicSocket, Io::TLS::Socket] the connection's own now
        # @yieldreturn [UNIXSocket] a new connection to the core
        def initialize(io, options, &bring)
          @channel = Io::Channel.new(io)
          @options = options
          @bring = bring
          @session = Protocols::HTTP2::Server.new(self, head: options.limits.head, clock: Deadline.method(:now))
          @reactor = Io::Reactor.new
          @slots = {}
          @free = []
          @now = @moved = @idle = @assembled = @looked = Deadline.now
        end

        # Serves until the peer leaves, or takes too long, or {drain} has let it end.
        def run
          transmit
          @reactor.add(@channel.io, self, @armed = mode)
          turn until over?
          say_goodbye unless @gone
        rescue Protocols::HTTP2::Violation
          say_goodbye
        rescue *Io::Channel::BREAKS
          nil # it has left
        rescue StandardError
          @session.give_up # a mistake of ours: it ends this connection, and not the server
          say_goodbye
        ensure
          close
        end

        # Takes no more requests, and ends after the running ones. From any thread or fiber.
        def drain
          @draining = true
          @reactor.wake
        rescue IOError
          nil # it has ended
        end

        # @return [Integer] its own ends of connections to the core
        def slots = @slots.size + @free.size

        # @!group What its session tells it

        def request(stream, head)
          return @session.send_head(stream, [[":status", "501"], %w[content-length 0]], last: true) if head.connect?

          slot = free_slot || new_slot
          @slots[stream.id] = slot
          slot.begin(stream, head)
        rescue SystemCallError
          @session.reset(stream, :refused_stream) # there is no descriptor left
        end

        def data(stream, bytes)
          slot = @slots[stream.id]
          slot ? slot.send_data(bytes) : @session.taken(stream, bytes.bytesize)
        end

        def finish(stream, trailers) = @slots[stream.id]&.finish(trailers)

        def reset(stream, _reason)
          slot = @slots.delete(stream.id) or return
          slot.leave(@now)
          discard(slot)
        end

        def granted(stream)
          return @look = true unless stream

          slot = @slots[stream.id]
          serve(slot) if slot
        end

        def inspect = "#<#{self.class} #{@slots.size} streams>"

        private

        def turn
          arm
          tokens = @reactor.wait(deadline)
          @now = Deadline.now
          note_rest
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
        def mode = (@session.congested? ? 0 : Slot::READABLE) | (@session.output.empty? ? 0 : Slot::WRITABLE)

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
          @moved = @now if @session.output.bytesize < before
          @look = true if before >= Protocols::HTTP2::Server::CONGESTED && !@session.congested?
        end

        # ---- waiting ----

        def arm
          wanted = mode
          @reactor.rearm(@channel.io, @armed = wanted) unless @armed == wanted
          @slots.each_value { |slot| arm_slot(slot) }
        end

        def deadline
          return Deadline.after(0) if @look || (@more && !@session.congested?)
          return Deadline.after(LOOK) if waiting? || @free.size > KEPT_IDLE

          @session.idle? ? patience && Deadline.new(@idle + patience) : nil
        end

        def waiting? = !@session.output.empty? || @session.assembling? || @slots.each_value.any?(&:held?)

        def close
          [*@slots.values, *@free].each(&:close)
          @reactor.close
          @channel.close
        end

        # ---- slots: connections to the core, one a stream ----

        def free_slot
          slot = @free.pop
          return slot if slot.nil? || !slot.stale?(@now)

          discard(slot)
          free_slot
        rescue *Slot::ENDS
          discard(slot)
          free_slot
        end

        def new_slot
          slot = Slot.new(@bring.call, @session)
          @reactor.add(slot.io, slot, slot.armed = Slot::READABLE)
          slot
        end

        # On a slot without a stream nothing comes but its end.
        def ready(slot)
          slot.armed = nil
          slot.stream ? serve(slot) : discard(slot)
        end

        def serve(slot)
          slot.move
          return unless slot.ended? && slot.stream

          @slots.delete(slot.stream.id)
          slot.leave(@now)
          slot.reusable? && @free.size < KEPT && !@draining ? keep(slot) : discard(slot)
        end

        def keep(slot)
          @free << slot
          arm_slot(slot)
        end

        def discard(slot)
          @free.delete(slot)
          return if slot.io.closed?

          @reactor.remove(slot.io)
          slot.close
        end

        # In turn: a slot that had its turn goes to the end.
        def look_at_all
          @look = false
          @slots.to_a.each do |id, slot|
            break unless @session.open?

            @slots[id] = @slots.delete(id)
            serve(slot)
          end
        end

        def arm_slot(slot)
          wanted = slot.interest
          return if wanted.zero? || slot.armed == wanted

          @reactor.rearm(slot.io, slot.armed = wanted)
        end

        # ---- timeouts ----

        # A long wait for an answer is none for the peer: until now there was nothing for it to take or to complete.
        def note_rest
          @idle = @now unless @session.idle?
          @moved = @now if @session.output.empty?
          @assembled = @now unless @session.assembling?
        end

        # Seconds for the greeting, and between two requests.
        def patience = @session.greeted? ? @options.idle_timeout : @options.head_timeout

        def look_at_times
          give_up if late?(@moved, @options.write_timeout) || late?(@assembled, @options.head_timeout)
          end_idle if @session.idle? && late?(@idle, patience)
          look_at_slots if late?(@looked, LOOK)
        end

        def late?(since, seconds) = !seconds.nil? && @now - since >= seconds

        # The peer is gone.
        def give_up = @over = @gone = true

        def end_idle = @session.greeted? ? @session.drain : give_up

        # The core waits for the peer as long, and would not notice what is stuck here.
        def look_at_slots
          @looked = @now
          discard(@free.last) while @slots.empty? && @free.size > KEPT_IDLE
          late = @slots.values.select { |slot| slot.stalled?(@now, @options.write_timeout) }
          late.each { |slot| @session.reset(slot.stream, :cancel) }
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
    private_constant :HTTP2
  end
end
