# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module DB
    # Rows that come one by one from a call in C, fetched by a thread ahead of the fiber that uses them.
    class Batches
      # Batches that wait to be used, at most.
      AHEAD = 2
      private_constant :AHEAD

      # @param size [Integer] rows in a batch
      # @param stop [#call] makes {each}'s source end soon: nobody wants its rows any longer
      # @param source [#call] (&block) => gives each row to the block
      def initialize(size:, stop:, &source)
        @size = size
        @stop = stop
        @source = source
        @queue = SizedQueue.new(AHEAD)
      end

      # @yieldparam row [Object]
      # @return [void]
      # @raise [Exception] what the source has raised
      def each(&block)
        thread = start
        while (batch = @queue.pop)
          batch.each(&block)
        end
        raise @error if @error
        raise WorkerDied, "the thread that read the rows was killed: some are missing" unless @complete
      ensure
        finish(thread)
      end

      private

      def start
        Thread.new { fetch }.tap { |thread| thread.report_on_exception = false }
      end

      def fetch
        batch = []
        @source.call do |row|
          batch << row
          if batch.size == @size
            @queue << batch
            batch = []
          end
        end
        @queue << batch
        @complete = true
      rescue StandardError => e
        @error = e
      ensure
        @queue.close
      end

      # The source must not touch its connection any longer when this returns.
      def finish(thread)
        return unless thread

        @queue.close
        @stop.call unless @complete
        thread.join
      end
    end
  end
end
