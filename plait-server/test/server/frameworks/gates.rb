# frozen_string_literal: true

# Holds a streaming answer back until another request lets it go on.
module Gates
  LOCK = Mutex.new
  QUEUES = {} # rubocop:disable Style/MutableConstant -- filled by requests, under the lock

  module_function

  # Waits until somebody opens it.
  def pass(key) = queue(key).pop

  def open(key) = queue(key).push(true)

  def queue(key) = LOCK.synchronize { QUEUES[key] ||= Thread::Queue.new }
end
