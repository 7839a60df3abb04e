# frozen_string_literal: true

module Plait
  # A moment by which something must be over, on the monotonic clock: comparable between threads and, on Linux and macOS,
  # between a process and its forks.
  class Deadline
    # @return [Float] monotonic seconds
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # @param seconds [Numeric, nil] from now; nil means never
    # @return [Deadline, nil]
    def self.after(seconds) = seconds && new(now + seconds)

    # @param seconds [Numeric] that were allowed; the rest of a deadline is a little less than the caller's number
    # @return [String] for the message of an error
    def self.overrun(seconds) = "no end after #{format("%g", seconds > 0.01 ? seconds.to_f.round(3) : seconds)} s"

    # @return [Float] monotonic seconds
    attr_reader :at

    # @param at [Float] monotonic seconds
    def initialize(at)
      @at = at
    end

    # @return [Float] seconds left, never below zero
    def remaining = [@at - Deadline.now, 0.0].max

    # @return [Boolean]
    def expired? = Deadline.now >= @at
  end
end
