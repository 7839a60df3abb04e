# frozen_string_literal: true

require_relative "../session"
require "plait/values/errors"

module Plait
  module DB
    class Sqlite < Session
      # Ruby's values as SQLite, which has five types, keeps them: truth as 1 and 0, times and dates as its functions of date
      # and time write them, decimals as text, of which a column of a numeric type makes a number.
      module Values
        module_function

        # @param value [Object]
        # @return [Integer, Float, String, nil]
        # @raise [UsageError]
        def for(value)
          case value
          when nil, Integer, Float, String then value
          when true then 1
          when false then 0
          when Symbol then value.to_s
          when Time then value.getutc.strftime("%F %T.%6N")
          else other(value)
          end
        end

        # Of libraries that nobody has to have loaded.
        def other(value)
          return value.to_s("F") if defined?(BigDecimal) && value.is_a?(BigDecimal) && value.finite?
          return value.to_time.getutc.strftime("%F %T.%6N") if defined?(DateTime) && value.is_a?(DateTime)
          return value.strftime("%F") if defined?(Date) && value.is_a?(Date)

          raise UsageError, "a #{value.class} is nothing for SQLite: give its text, a number, a time, true, false or nil"
        end
        private_class_method :other
      end
    end
  end
end
