# frozen_string_literal: true

require_relative "quiet"
require_relative "resident"
require_relative "tickets"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # One ractor of a pool, seen from the main one.
      class Worker
        # @return [Integer] from 0
        attr_reader :number
        # @return [Array<Job>] what it works on, and what waits behind that
        attr_reader :jobs

        def initialize(number)
          @number = number
          @jobs = []
          @tickets = Tickets.new
          @far_lifeline, @lifeline = IO.pipe
        end

        # @raise [Ractor::Error, TypeError] if the policy can't be copied
        # @raise [ThreadError] when the system gives no thread
        def start(body, policy, port)
          @ractor = Quiet.start do
            pipes = [@far_lifeline, @tickets.address]
            ::Ractor.new(@number, body, policy, pipes, port.address) { |*all| Resident.new(*all).run }
          end
          port.attach(@number, @ractor)
        ensure
          @far_lifeline.close # Ractor.new has made a copy of it
        end

        def idle? = @jobs.empty?

        # @return [Boolean] whether it has ended: what it is sent goes nowhere
        def closed? = @closed

        # @param job [Job]
        # @return [Boolean] false when it is {#closed?}
        # @raise [StandardError] if an argument can't be copied
        def give(job)
          job.ticket = @tickets.issue
          @jobs << job # first: whatever interrupts this, an answer finds its job
          @ractor.send([job.ticket, job.index, job.arguments, job.made])
          true
        rescue ::Ractor::ClosedError
          @jobs.delete(job)
          @closed = true
          false
        rescue StandardError
          @jobs.delete(job)
          raise
        end

        # @param index [Integer] of what it has answered
        # @return [Job, nil]
        def finish(index)
          job = @jobs.find { |given| given.index == index }
          @jobs.delete(job)
        end

        # @return [Job, nil] the oldest that it has not begun; it never will
        def take_back
          while (ticket = @tickets.take)
            job = @jobs.find { |waiting| waiting.ticket == ticket } # none: it could not be sent
            return @jobs.delete(job) if job
          end
        end

        # @return [Array<Job>] all that it has not begun
        def take_all_back
          jobs = []
          while (job = take_back)
            jobs << job
          end
          jobs
        end

        # Ends the ractor, and what runs in it; does not wait. An idle one ends by the empty job.
        def stop
          return if @lifeline.closed?

          @ractor&.send(nil)
          @lifeline.write_nonblock(".") # closing may say nothing: a forked child has this end too
        rescue Errno::EPIPE, ::Ractor::ClosedError
          nil
        ensure
          @lifeline.close
          @tickets.close
        end

        # @return [Boolean] whether Ruby has removed the ractor
        def over? = @ractor.nil? || @ractor.inspect.end_with?("terminated>")
      end
    end
  end
end
