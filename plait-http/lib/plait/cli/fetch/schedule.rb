# frozen_string_literal: true

require "plait/cli/command"
require_relative "host"
require_relative "job"
require_relative "timetable"

module Plait
  module CLI
    class Fetch < Command
      # Whose turn it is. It reads ahead in the input, no further than {WINDOW} jobs, so that hosts get their turns one
      # after another and one that must wait holds up nobody else.
      #
      # One thread uses it.
      class Schedule
        WINDOW = 4096

        # @param source [#take] gives a {Job}, :wait or nil, which may be followed by more, as {Intake} does
        # @param per_host [Integer] requests at once to one host
        # @param rate [Rate, nil]
        # @yieldparam job [Job] for a host that was closed
        def initialize(source, per_host:, rate: nil, &refuse)
          @source = source
          @per_host = per_host
          @rate = rate
          @refuse = refuse
          @closed = {}
          @hosts = {}
          @queue = []
          @later = Timetable.new
          @waiting = 0
          @active = 0
        end

        # @return [Integer] jobs taken and not finished
        attr_reader :active

        # @param now [Float] monotonic seconds
        # @return [Job, nil] nil when there is none to begin now
        def take(now)
          return if @stopped

          wake(now)
          refill(now)
          return if @rate && !@rate.ready?(now)

          host = next_host(now) || (refill(now) && next_host(now)) or return
          @rate&.take(now)
          begin_one(host, now)
        end

        # @return [Float, nil] seconds until {#take} may have one; nil when only a finished job or more input can change
        #   that
        def wait(now)
          moments = [@later.next_moment, (@rate&.next_moment unless @queue.empty?)].compact
          [moments.min - now, 0.0].max unless @stopped || moments.empty?
        end

        # @return [void]
        def finished(job, now)
          @active -= 1
          host = @hosts.fetch(job.host)
          host.finished
          enqueue(host, now)
          forget(job.host, host, now)
        end

        # Puts a job into the queue of its host.
        # @return [void]
        def add(job, now)
          return @refuse.call(job) if @closed.key?(job.host)

          @waiting += 1
          host = host(job.host)
          host.add(job)
          enqueue(host, now)
        end

        # A job is to be tried again.
        # @param moment [Float] monotonic seconds
        # @return [void]
        def again(job, moment)
          @waiting += 1
          @later.add(job, moment)
        end

        # Nothing is asked of a host before a moment.
        # @param moment [Float] monotonic seconds
        # @return [void]
        def pause(name, moment)
          host = host(name)
          @later.add([name, host], moment) if host.pause_until(moment)
        end

        # @param seconds [Float] between two requests to a host
        # @return [void]
        def space_out(name, seconds) = host(name).interval = seconds

        # Nothing is asked of a host any more.
        # @return [void]
        def close(name)
          @closed[name] = true
          jobs = host(name).clear
          @waiting -= jobs.size
          jobs.each { |job| @refuse.call(job) }
        end

        # Begins nothing more.
        # @return [void]
        def stop = @stopped = true

        # @return [Boolean] whether nothing is under way and nothing more will come
        def over?(now)
          return false if @active.positive?
          return true if @stopped
          return false if @waiting.positive?

          refill(now)
          @waiting.zero? && @exhausted
        end

        private

        def host(name) = @hosts[name] ||= Host.new(@per_host)

        def enqueue(host, now)
          return if host.queued || !host.ready?(now)

          host.queued = true
          @queue << host
        end

        def wake(now)
          @later.due(now).each { |thing| thing.is_a?(Job) ? back(thing, now) : reopen(*thing, now) }
        end

        def back(job, now)
          @waiting -= 1
          add(job, now)
        end

        def reopen(name, host, now)
          enqueue(host, now)
          forget(name, host, now)
        end

        # Each in its turn: who has had one goes to the end.
        def next_host(now)
          while (host = @queue.shift)
            host.queued = false
            return host if host.ready?(now)
          end
        end

        def begin_one(host, now)
          opens = host.open_at
          job = host.take(now)
          @later.add([job.host, host], host.open_at) if host.open_at > opens
          @waiting -= 1
          @active += 1
          enqueue(host, now)
          job
        end

        # @return [Boolean] whether there may be a host to ask by now
        def refill(now)
          while @queue.empty? && @waiting < WINDOW
            job = @source.take
            @exhausted = job.nil?
            return false unless job.is_a?(Job)

            add(job, now)
          end
          !@queue.empty?
        end

        # A million hosts are not kept. What was planned for one that has been forgotten must not touch its successor.
        def forget(name, host, now)
          @hosts.delete(name) if @hosts[name].equal?(host) && host.interval.zero? && host.idle?(now)
        end
      end
    end
  end
end
