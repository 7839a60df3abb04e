# frozen_string_literal: true

require "plait/mechanisms/mechanism"
require "plait/values/deadline"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # An item on its way.
      class Task
        # @return [Integer]
        attr_reader :index
        # @return [Object]
        attr_reader :item
        # @return [Integer] attempts that ended with the death of who made them
        attr_reader :made
        # @return [Integer] attempts begun
        attr_reader :attempts
        # @return [String, nil] the process of Sidekiq that has begun it
        attr_reader :worker
        # @return [Float] monotonic seconds at which it was sent
        attr_reader :sent_at
        # @return [Integer] copies sent before this one
        attr_reader :copy

        def initialize(index, item)
          @index = index
          @item = item
          @made = @attempts = @copy = 0
          sent
        end

        # @return [void]
        def sent = @sent_at = Deadline.now

        # The copies sent so far do not count any more.
        # @return [void]
        def copy_again = @copy += 1

        def begun? = !@worker.nil?

        # @param worker [String]
        # @param number [Integer] of the attempt, from 1
        def attempt(worker, number)
          @worker = worker
          @attempts = number
        end

        # It waits in its queue again; unless somebody else has begun it meanwhile.
        # @param worker [String]
        def give_back(worker)
          return unless @worker == worker

          @worker = nil
          sent
        end

        # Makes it ready for another one.
        def reset
          @made = @attempts = [@attempts, @made + 1].max
          @worker = nil
        end
      end
    end
  end
end
