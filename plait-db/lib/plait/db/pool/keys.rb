# frozen_string_literal: true

module Plait
  class Pool
    # The names of the variables in which fibers keep what they have of each pool. A name is used again when its pool is
    # gone: Ruby keeps symbols that C has seen, and each fiber that has had a variable keeps its place.
    module Keys
      @free = Queue.new
      @made = 0
      @lock = Mutex.new

      class << self
        # @param pool [Pool]
        # @return [Symbol]
        def for(pool)
          take.tap { |key| ObjectSpace.define_finalizer(pool, giving_back(key)) }
        end

        private

        def take
          @free.pop(true)
        rescue ThreadError
          @lock.synchronize { :"plait_pool_#{@made += 1}" }
        end

        # Made here, where the pool is not to be seen.
        def giving_back(key) = ->(_) { @free << key }
      end
    end
  end
end
