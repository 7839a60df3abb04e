# frozen_string_literal: true

require_relative "../values/deadline"

module Plait
  # Extends the exception that ends a run: it keeps its own class, so that `rescue KeyError` works, and says which item
  # it belongs to.
  module Failure
    # Ruby's did_you_mean and error_highlight look for the text without their additions by passing over every `to_s` whose
    # module has this constant; without it they would call the one here, which calls theirs, without end.
    SKIP_TO_S_FOR_SUPER_LOOKUP = true
    private_constant :SKIP_TO_S_FOR_SUPER_LOOKUP

    # Elements of a collection that are worth the time of `inspect`.
    FEW = 20
    LONGEST = 80
    private_constant :FEW, :LONGEST

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
      @places = [*(@places if passing?(outcome)), "item #{@index}: #{Failure.shorten(@item)}#{tries}"]
      @placed_at = Deadline.now
    end

    # @return [String] the error's own text, and the item it belongs to
    def to_s = placed(super)

    # Classes with a message of their own don't ask to_s for it.
    def message = placed(super)

    # @api private
    def self.shorten(item)
      item = item[0, LONGEST] if item.instance_of?(String)
      return "#{item.class} of #{item.size}" if (item.instance_of?(Array) || item.instance_of?(Hash)) && item.size > FEW

      text = readable(item.inspect)
      text.length > LONGEST ? "#{text[0, LONGEST - 3]}..." : text
    rescue StandardError, ScriptError, SystemStackError
      "a #{item.class}"
    end

    # @api private
    # @return [String] valid UTF-8: messages of drivers and paths may be bytes of any kind
    def self.readable(text)
      return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
      return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding.ascii_compatible?

      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    end

    private

    # Else it is an object that somebody keeps and raises again: what it belonged to then says nothing now.
    # @return [Boolean] whether a run inside of this item has marked it
    def passing?(outcome) = @placed_at && outcome.started_at && @placed_at >= outcome.started_at

    def placed(text)
      text = Failure.readable(text.to_s)
      place = "(#{@places.join(", in ")})"
      text.end_with?(place) ? text : "#{text} #{place}"
    end

    def tries = @attempts > 1 ? ", tried #{@attempts} times" : ""
  end
end
