# frozen_string_literal: true

require_relative "errors"

module Plait
  # A block that has a name, so that other machines can find it: a class whose instances answer to `call(item)`, or a class or
  # module that does so itself. Every mechanism runs it; `on: :sidekiq` runs nothing else.
  class Job < Proc
    QUEUE = "default"

    class << self
      # @param target [Module] with a name
      # @param queue [String] of Sidekiq
      # @return [Job]
      # @raise [UsageError]
      def of(target, queue: QUEUE)
        check_name(target)
        check_queue(queue)
        new(target.name, queue, &body_of(target))
      end

      # @param name [String] of a class or module that this process knows, or can load
      # @return [Job]
      # @raise [UsageError]
      def find(name)
        of(Object.const_get(name))
      rescue NameError
        raise UsageError, "this process knows no #{name}: load it before jobs are taken from the queue, by the file that " \
                          "Sidekiq is given with -r, say"
      end

      private

      def body_of(target)
        return ->(item) { target.call(item) } if target.respond_to?(:call)
        return ->(item) { target.new.call(item) } if target.is_a?(Class) && target.method_defined?(:call)

        raise UsageError, "a job answers to call(item): #{target} has no such method, nor have its instances"
      end

      def check_name(target)
        return if target.is_a?(Module) && target.name && Object.const_defined?(target.name)

        raise UsageError, "a job is a class or module with a name, by which other processes find it, not #{target.inspect}"
      end

      def check_queue(queue)
        return if queue.is_a?(String) && !queue.empty?

        raise UsageError, "queue: names a queue of Sidekiq, such as #{QUEUE.inspect}, not #{queue.inspect}"
      end
    end

    # @return [String] of the class or module
    attr_reader :name
    # @return [String]
    attr_reader :queue

    # @api private
    def initialize(name, queue)
      super()
      @name = name
      @queue = queue
    end
  end
end
