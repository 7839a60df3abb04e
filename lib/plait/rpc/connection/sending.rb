# frozen_string_literal: true

require_relative "waiter"

module Plait
  module RPC
    class Connection
      # What goes: frames are put together by the writer, and leave by the wire at once, unless somebody is about to send
      # anyway. Everything here but {#await_room} and {#drain} is done under the lock.
      module Sending
        private

        # @return [void]
        def enter_call(future, params)
          raise complaint(@over) if @over

          id = free_id
          @writer.request(id, future.method_name, params)
          (@calls ||= {})[id] = future
          future.entered(id, @wire.pushed + @writer.bytesize)
        end

        # Ids are 32 bits long, and one may still be in use when all have been given once.
        def free_id
          id = @last_id
          loop do
            id = (id + 1) & 0xffff_ffff
            return @last_id = id unless @calls&.key?(id)
          end
        end

        # Sends, unless somebody is about to.
        # @return [Boolean] whether nothing is left to do for who called
        def flush_soon = (@reader && !@reading) || @intake || flush_now

        # Sends what the peer takes.
        # @return [Boolean] whether that is all
        def flush_now
          return true if @over || (@writer.empty? && !@unsent)

          @wire.push(@writer.take) unless @writer.empty?
          sent = @wire.transmit
          return give_up_sending if sent.nil?

          @unsent = !sent
          @sleeping&.each_key { |waiter| waiter.wake unless waiter.future }
          sent
        end

        # The peer doesn't listen any more, but may still have said something: who reads will find it.
        def give_up_sending
          failure = @wire.failure
          @unsent = false
          return @wire.shut || true if @reading

          receive_what_is_there unless @served
          finish(failure)
          true
        end

        # Waits until there is room for another frame.
        def await_room(limit)
          return if unsent <= @room || await(Waiter.new(limit) { unsent <= @room })

          raise late_to_send
        end

        # Waits until all is out that was to be sent up to here.
        def drain(limit = nil)
          mark = exclusively { @wire.pushed + @writer.bytesize }
          await(Waiter.new(limit) { @wire.sent >= mark }) || raise(late_to_send)
        end
      end
    end
  end
end
