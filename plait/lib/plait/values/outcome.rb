# frozen_string_literal: true

module Plait
  # The end of one item: a value or an error, when, and on which worker.
  class Outcome
    # @return [Integer] the item's place in the input, from 0
    attr_reader :index
    # @return [Object]
    attr_reader :item
    # @return [Object, nil] the block's value; nil after a failure
    attr_reader :value
    # @return [Exception, nil]
    attr_reader :error
    # @return [Integer] how often the block was run, 0 when it never was
    attr_reader :attempts
    # @return [Float, nil] monotonic seconds
    attr_reader :started_at, :finished_at
    # @return [Integer, String, nil] the worker that ran it
    attr_reader :worker

    def initialize(index:, item:, value: nil, error: nil, attempts: 1, started_at: nil, finished_at: nil, worker: nil)
      @index = index
      @item = item
      @value = value
      @error = error
      @attempts = attempts
      @started_at = started_at
      @finished_at = finished_at
      @worker = worker
    end

    # @return [Boolean]
    def ok? = @error.nil?

    # @return [Object] the value
    # @raise [Exception] the error, after a failure
    def value! = ok? ? @value : raise(@error)

    # @return [Float, nil] seconds, retries and their pauses included
    def duration = @started_at && @finished_at && (@finished_at - @started_at)

    # @return [Hash] for pattern matching: `in {ok: true, value:}`
    def deconstruct_keys(_keys) = { index: @index, item: @item, ok: ok?, value: @value, error: @error }
  end
end
