# frozen_string_literal: true

module Plait
  class Scheduler
    # Runs jobs on fibers that are used again: a fiber is two memory maps and 13 kB, a job that never waits needs none of
    # its own. A strand that has finished a job takes the next from the queue without going through the loop.
    class Strands
      State = Mechanisms::State

      # Room under the kernel's vm.max_map_count for the program's own maps.
      SPARE_MAPS = 4_096
      MAPS_PER_FIBER = 2

      # @return [Integer] fibers that a process can have, by the kernel's limit on memory maps
      def self.capacity
        @capacity ||= begin
          maps = File.read("/proc/sys/vm/max_map_count").to_i
          [(maps - SPARE_MAPS) / MAPS_PER_FIBER, 1_024].max
        rescue SystemCallError
          30_000
        end
      end

      # @param reenter [Proc] hands control back to the loop and returns the value that it is resumed with
      def initialize(scheduler, &reenter)
        @scheduler = scheduler
        @reenter = reenter
        @jobs = []
        @idle = []
        @alive = {}.compare_by_identity
      end

      # @return [Integer] fibers alive
      def count = @alive.size
      # @return [Array] read by the native loop; always the same object
      attr_reader :jobs

      # @return [Boolean] whether a fiber waits for a job
      def idle? = !@idle.empty?

      # @return [Array<Fiber>] fibers that have a job
      def busy = @alive.keys - @idle

      # @return [Boolean] whether this one has a job
      def busy?(strand) = @alive.key?(strand) && !@idle.include?(strand)

      # @return [Boolean] whether all jobs are
      def over? = @jobs.empty? && @alive.size == @idle.size

      # @return [Boolean] whether a job waits for a fiber
      def pending? = !@jobs.empty?

      # @return [Boolean] whether a waiting job can get one now
      def runnable? = !@jobs.empty? && !starved?

      def push(job) = @jobs << job

      # Called by the loop: runs the next job until it waits or ends.
      def dispatch
        job = @jobs.shift
        strand = @idle.pop
        return strand.transfer(job) if strand

        start(job)
      end

      # Forgets the idle ones; called when the loop closes.
      # @param finish [Boolean] end them now; else they go with the garbage
      def close(finish:)
        [*@idle, *@starter].each { |fiber| fiber.transfer(nil) } if finish
        @idle.clear
        @starter = nil
      end

      private

      def starved? = @idle.empty? && count >= Strands.capacity

      def start(job)
        started = false
        strand = Fiber.new(blocking: false) { |first| (started = true) && live(first) }
        switch(strand, job)
      rescue FiberError => e
        raise if started

        # The kernel had no memory map left for its stack.
        @jobs.unshift(job)
        if count.zero?
          raise UnsupportedError, "this process can't have more than #{count} fibers (#{e.message}); " \
                                  "ask for a smaller limit:, or raise vm.max_map_count"
        end
      end

      # Where Ruby (3.1 and 3.3 were seen) refuses a fiber to a blocking one, such as the loop's, it counts that thread as
      # blocking from then on: no fiber of it has a scheduler, and all run one after another.
      def switch(strand, job)
        refused = (@starter || begin_starter).transfer(strand, job, ::Fiber.current)
        raise refused if refused.is_a?(FiberError)

        refused
      end

      def begin_starter
        ::Fiber.new(blocking: false) do |strand, job, loop_fiber|
          @starter = ::Fiber.current
          while strand # the closing of the loop gives none
            begin
              strand, job, loop_fiber = strand.transfer(job)
            rescue FiberError => e
              strand, job, loop_fiber = loop_fiber.transfer(e)
            end
          end
        ensure
          @starter = nil
        end
      end

      def live(job)
        @alive[Fiber.current] = true
        own = State.begin_fiber
        while job
          job.run
          exit if @scheduler.abandoned? # in a child that the job has forked, as when the thread of a fork ends
          own = State.clear(own)
          job = (@jobs.shift if @scheduler.slice_left?) || park
        end
      ensure
        @alive.delete(Fiber.current)
      end

      def park
        @idle << Fiber.current
        @reenter.call
      rescue Exception # rubocop:disable Lint/RescueException -- it is raised again
        @idle.delete(Fiber.current) # an interrupt ends it while it is idle
        raise
      end
    end
    private_constant :Strands
  end
end
