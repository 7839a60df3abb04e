# frozen_string_literal: true

module Plait
  # Extends the exception that ends a run: it keeps its own class, so that `rescue KeyError` works, and says which item
  # it belongs to.
  module Failure
    # @return [Object] the item whose block raised
    attr_reader :item
    # @return [Integer] its place in the input, from 0
    attr_reader :index
    # @return [Integer] how often the block was run for it
    attr_reader :attempts
    # @return [Array<Exception>] what other items raised before everything stood still
    attr_reader :suppressed

    # @param outcome [Outcome] a failed one
    # @param suppressed [Array<Exception>]
    # @return [Exception] the outcome's own error, extended
    def self.mark(outcome, suppressed: [])
      error = outcome.error
      error = error.dup if error.frozen?
      error.extend(self)
      error.belong_to(outcome, suppressed)
      error
    end

    # Called once more by each outer run that the error passes through.
    # @api private
    def belong_to(outcome, suppressed)
      @item = outcome.item
      @index = outcome.index
      @attempts = outcome.attempts
      @suppressed = suppressed
      @places = [*@places, "item #{@index}: #{Failure.shorten(@item)}#{tries}"]
    end

    # @return [String] the error's own text, and the item it belongs to
    def to_s = placed(super)

    # Classes with a message of their own don't ask to_s for it.
    def message = placed(super)

    # @api private
    def self.shorten(item)
      text = item.inspect
      text.length > 80 ? "#{text[0, 77]}..." : text
    rescue StandardError
      "a #{item.class}"
    end

    private

    def placed(text)
      place = "(#{@places.join(", in ")})"
      text.end_with?(place) ? text : "#{text} #{place}"
    end

    def tries = @attempts > 1 ? ", tried #{@attempts} times" : ""
  end
end
