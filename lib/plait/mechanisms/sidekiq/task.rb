# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/deadline"

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

        def initialize(index, item)
          @index = index
          @item = item
          @made = @attempts = 0
          @sent_at = Deadline.now
        end

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
          @sent_at = Deadline.now
        end

        # Makes it ready for another one.
        def reset
          @made = @attempts = [@attempts, @made + 1].max
          @worker = nil
          @sent_at = Deadline.now
        end
      end
    end
  end
end
