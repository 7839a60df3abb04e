# frozen_string_literal: true

module Plait
  # Extends the exception that ends a run: it keeps its own class, so that `rescue KeyError` works, and says which item
  # it belongs to.
  module Failure
    # Ruby's did_you_mean and error_highlight look for the text without their additions by passing over every `to_s` whose
    # module has this constant; without it they would call the one here, which calls theirs, without end.
    SKIP_TO_S_FOR_SUPER_LOOKUP = true

    # Characters of an item in a message, and characters that are read for it.
    LONGEST = 80
    SEEN = 4096
    private_constant :SKIP_TO_S_FOR_SUPER_LOOKUP, :LONGEST, :SEEN

    # @return [Object] the item whose block raised
    attr_reader :item
    # @return [Integer] its place in the input, from 0
    attr_reader :index
    # @return [Integer] how often the block was run for it
    attr_reader :attempts
    # @return [Array<Exception>] the errors of other items, until all had stopped
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

    # Only plain values: the `inspect` of other objects may show passwords, or take its time.
    # @api private
    def self.shorten(item)
      case item
      when nil, true, false, Symbol, Numeric, Module then cut(item.inspect)
      when String then cut(Secrets.hide(readable(item[0, SEEN])).inspect)
      when Array, Hash then "#{item.class} of #{item.size}"
      else item.respond_to?(:userinfo) ? cut(Secrets.hide(item.to_s)) : "a #{item.class}" # a URI has one
      end
    rescue StandardError, ScriptError, SystemStackError
      "a #{item.class}"
    end

    # @api private
    def self.cut(text)
      text = readable(text)
      text.length > LONGEST ? "#{text[0, LONGEST - 3]}..." : text
    end

    # @api private
    # @return [String] valid UTF-8: messages of drivers and paths may be bytes of any kind
    def self.readable(text)
      return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
      return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding.ascii_compatible?

      text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    end

    private

    # Otherwise the program keeps one error object and raises it again: its old item means nothing now.
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
