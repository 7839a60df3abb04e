# frozen_string_literal: true

require "plait"

# An eighth mechanism, in one file and one line: each item and each task in a thread of its own.
class ThreadAnItem < Plait::Mechanisms::Mechanism
  def default_limit = 4

  def executor(attempt, limit:) = Items.new(attempt, limit)

  def scope(options:, &block) = Plait::Scope::Threaded.open(options: options, &block)

  # The threads of one run.
  class Items < Plait::Mechanisms::Executor
    Interruption = Plait::Mechanisms::Interruption

    def initialize(attempt, limit)
      super()
      @attempt = attempt
      @limit = limit
      @threads = {}
      @finished = Thread::Queue.new
    end

    def room? = @threads.size < @limit

    # A thread inherits the mask: an interruption reaches it in the body only.
    def submit(index, item)
      thread = Interruption.hold { Thread.new { run(index, item) } }
      thread.report_on_exception = false
      @threads[index] = thread
    end

    def ready? = !@finished.empty?

    def take
      outcome = @finished.pop
      @threads.delete(outcome.index).join
      outcome
    end

    def cancel
      @threads.each_value { |thread| thread.raise(Interruption.new) }
      @threads.each_value(&:join).clear
      Array.new(@finished.size) { @finished.pop }
    end

    # Ends the threads of a run whose caller is gone. It refers to the threads, and not to the run.
    def self.remains(threads) = -> { threads.each_value(&:kill) }

    def remains = Items.remains(@threads)

    private

    def run(index, item)
      Plait::Mechanisms::State.clear
      outcome = Interruption.admit { @attempt.call(index, item, index) }
      @finished << outcome
    rescue Interruption
      nil
    end
  end
end

Plait::Mechanisms.register(ThreadAnItem.new)
