# frozen_string_literal: true

require "plait/mechanisms/portable"
require "plait/mechanisms/mechanism"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # What travels through Redis, as JSON: it arrives as it was, or it does not leave. (Marshal would take more along, and let
      # each writer to that Redis run code here.)
      module Plain
        ADVICE = "Only nil, true, false, numbers, Strings in UTF-8, Arrays, and Hashes with Strings as keys can. Pass such: an " \
                 "id by which the job finds what it needs, say."
        # Arrays in Arrays, as far as JSON takes them.
        DEPTH = 90
        # In place of endless seconds: thirty years.
        ENDLESS = 1e9

        class << self
          # @param value [Object]
          # @param name [String] what it is, such as "the result"
          # @return [Object] the value
          # @raise [UnmarshalableError]
          def check(value, name)
            culprit = find(value, name, DEPTH) or return value

            raise UnmarshalableError, "#{culprit}, which can't travel through Sidekiq. #{ADVICE}"
          end

          # @param value [Object]
          # @return [Object] in place of a number that JSON does not have, a Rational or an endless one, one that will do
          def number(value) = value.is_a?(Numeric) && !value.is_a?(Integer) ? [value.to_f, ENDLESS].min : value

          # @param error [Exception]
          # @return [Hash{String => Object}]
          def of_error(error)
            status = error.status if error.is_a?(SystemExit)
            { **words(Portable::Description.of(error)), "status" => status }
          end

          # @param words [Hash{String => Object}]
          # @return [Exception]
          def to_error(words)
            return SystemExit.new(words["status"], words["message"]) if words["status"]

            Portable::Description.rebuild(described(words))
          end

          private

          def find(value, name, depth)
            case value
            when nil, true, false, Integer then nil
            when Float then value.finite? ? nil : "#{name} is #{value}"
            when String then find_in_string(value, name)
            when Array, Hash then find_inside(value, name, depth)
            else of_class(value, name)
            end
          end

          def of_class(value, name) = "#{name} is of #{value.class}"

          def find_in_string(value, name)
            return of_class(value, name) unless value.instance_of?(String)

            utf8 = [Encoding::UTF_8, Encoding::US_ASCII].include?(value.encoding) && value.valid_encoding?
            "#{name} is a String that is not in UTF-8 (#{value.encoding})" unless utf8
          end

          def find_inside(value, name, depth)
            return of_class(value, name) unless value.instance_of?(Array) || value.instance_of?(Hash)
            return "#{name} is nested too deeply" unless depth.positive?

            value.is_a?(Array) ? find_in_array(value, name, depth - 1) : find_in_hash(value, name, depth - 1)
          end

          def find_in_array(array, name, depth)
            array.each_with_index do |value, index|
              culprit = find(value, "#{name}[#{index}]", depth)
              return culprit if culprit
            end
            nil
          end

          def find_in_hash(hash, name, depth)
            hash.each do |key, value|
              culprit = key.instance_of?(String) ? find_in_string(key, "a key of #{name}") : of_class(key, "a key of #{name}")
              culprit ||= find(value, "#{name}[#{key.inspect}]", depth)
              return culprit if culprit
            end
            nil
          end

          def words(description)
            cause = description[:cause]
            { "classes" => description[:classes], "message" => text(description[:message]),
              "backtrace" => description[:backtrace]&.map { |line| text(line) }, "cause" => cause && words(cause) }
          end

          # Messages of drivers are UTF-8 as often as not when they say that they are bytes.
          def text(string)
            return string.dup.force_encoding(Encoding::UTF_8).scrub if string.encoding == Encoding::BINARY

            string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
          end

          def described(words)
            cause = words["cause"]
            { classes: words["classes"], message: words["message"], backtrace: words["backtrace"],
              cause: cause && described(cause) }
          end
        end
      end
      private_constant :Plain
    end
  end
end
