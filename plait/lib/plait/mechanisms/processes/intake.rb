# frozen_string_literal: true

require_relative "../mechanism"
require_relative "frame_reader"
require_relative "frames"
require_relative "parcel"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: the items that have arrived and wait for their turn.
      class Intake
        # @param pipe [IO]
        # @param answers [Answers]
        def initialize(pipe, answers)
          @pipe = pipe
          @answers = answers
          @reader = FrameReader.new(Frames::PARCEL)
          @buffer = String.new(capacity: FrameReader::READ)
          @queue = []
          @total = 0
          @lock = Thread::Mutex.new
        end

        # Waits for the next item.
        # @return [Array(Integer, Integer, String), nil] index, attempts made elsewhere, the item dumped; nil: there will
        #   be no more
        def next
          until (task = shift)
            return if @over

            @answers.ring
            @lock.synchronize { wait }
          end
          task
        end

        # @return [Array, nil] as {#next}, but does not wait: nil when none is here
        def shift
          task = @queue.shift
          # Half of them are left: time for the parent to send more, before this process has nothing to do.
          @answers.ring if @queue.size == @half
          task
        end

        def empty? = @queue.empty?

        # @return [Boolean] whether the parent has closed its end
        def over? = @over

        # Reads what is there, without waiting.
        # @return [Boolean] whether anything was
        def read
          data = @pipe.read_nonblock(@reader.wanted, @buffer, exception: false)
          return false if data == :wait_readable

          data ? take(data) : @over = true
          true
        end

        # Takes out all that have not been begun, also those still in the pipe. Another thread calls it, while the main
        # thread runs an item; when that waits for items itself, there is nothing to take.
        # @return [Array<Integer>] their indexes
        def recall
          return [] unless @lock.try_lock

          begin
            nil while read && !@over
            @queue.slice!(0..).map(&:first)
          ensure
            @lock.unlock
          end
        end

        private

        def wait
          @pipe.wait_readable until read || @over
        end

        # The parent must know that items may have been begun before they can be: what it takes for unbegun when this
        # process is killed, it gives to another.
        def take(data)
          arrived = []
          @reader.push(data) { |(count, _), body| arrived.concat(Parcel.open(count, body)) }
          return if arrived.empty?

          @answers.received(@total += arrived.size)
          @queue.concat(arrived)
          @half = @queue.size / 2 if @queue.size > 1
        end
      end
    end
  end
end
