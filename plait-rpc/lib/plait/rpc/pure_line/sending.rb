# frozen_string_literal: true

require_relative "member"

module Plait
  module RPC
    class PureLine
      # What goes: frames are put together by the writer, and leave by the wire at once, unless somebody is about to send
      # anyway. Everything here but {#await_room} is done under the lock.
      module Sending
        private

        # @return [void]
        def enter_call(future, params)
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
          @sleeping&.each_key { |member| member.wake unless member.future }
          sent
        end

        # The peer doesn't listen any more, but may still have said something: who reads will find that, and then the end.
        # @return [true]
        def give_up_sending
          @unsent = false
          @wire.clear
          @reader ? @wire.shut : end_all(@wire.failure)
          true
        end

        # Waits until there is room for another frame.
        # @return [Boolean] whether there was in time
        def await_room(limit) = !@unsent || unsent <= @room || stay(Member.new(limit) { unsent <= @room })
      end
    end
  end
end
