# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Protocols
    # Makes errors of the rules that peers break. A protocol's Rules extend it; they have `PROTOCOL`, its name, and `ALL`: by
    # name a Struct of `text` (what is wrong), `section` (where it is written), and `limit` (the name of the one that allows
    # more, or nil).
    module Rulebook
      # @param name [Symbol]
      # @param offset [Integer] bytes of the message before the one that broke it
      # @param limits [Limits]
      # @return [RemoteProtocolError] to be raised
      def error(name, offset, limits)
        rule = self::ALL.fetch(name)
        place = { rule: name, section: rule.section, offset: offset, **particulars(rule) }
        return limit_exceeded(rule, place, limits[rule.limit]) if rule.limit

        kind = name.start_with?("truncated") ? TruncatedError : RemoteProtocolError
        kind.new("the peer sent broken #{self::PROTOCOL}: #{rule.text}, at byte #{offset} (#{rule.section})", **place)
      end

      # @return [LocalProtocolError] for a wrong call, to be raised
      def misuse(message) = LocalProtocolError.new(message)

      private

      # @return [Hash] what else the error tells
      def particulars(_rule) = {}

      def limit_exceeded(rule, place, maximum)
        message = "the peer sent #{rule.text}, at byte #{place[:offset]}: #{maximum} is the limit #{rule.limit.inspect} " \
                  "(#{rule.section}); raise it with limits: {#{rule.limit}: …}"
        LimitExceeded.new(message, limit: rule.limit, maximum: maximum, **place)
      end
    end
  end
end
