# frozen_string_literal: true

require "plait/mechanisms/portable"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # Values that travel through Redis as JSON, unchanged; others are refused. (Marshal would take more values, but let each
      # writer to that Redis run code here.)
      module Plain
        ADVICE = "Only nil, true, false, numbers, Strings in UTF-8, Arrays, and Hashes with Strings as keys can. Pass an id, " \
                 "for instance, by which the job finds its data."
        # Nested Arrays at most; JSON takes 100.
        DEPTH = 90
        # Seconds in place of infinity: thirty years.
        ENDLESS = 1e9

        class << self
          # @param name [String] its name in errors, such as "the result"
          # @return [Object] the value
          def check(value, name)
            fault = find(value, name, DEPTH) or return value

            raise UnmarshalableError, "#{fault}, which can't travel through Sidekiq. #{ADVICE}"
          end

          # @return [Object] a Float in place of a number that JSON does not have: a Rational, or infinity
          def number(value) = value.is_a?(Numeric) && !value.is_a?(Integer) ? [value.to_f, ENDLESS].min : value

          def of_error(error)
            status = error.status if error.is_a?(SystemExit)
            { **words(Portable::Description.of(error)), "status" => status }
          end

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
              fault = find(value, "#{name}[#{index}]", depth)
              return fault if fault
            end
            nil
          end

          def find_in_hash(hash, name, depth)
            hash.each do |key, value|
              fault = key.instance_of?(String) ? find_in_string(key, "a key of #{name}") : of_class(key, "a key of #{name}")
              fault ||= find(value, "#{name}[#{key.inspect}]", depth)
              return fault if fault
            end
            nil
          end

          def words(description)
            cause = description[:cause]
            { "classes" => description[:classes], "message" => text(description[:message]),
              "backtrace" => description[:backtrace]&.map { |line| text(line.to_s) }, "cause" => cause && words(cause) }
          end

          # Messages of drivers in BINARY are often UTF-8.
          def text(string)
            return string.dup.force_encoding(Encoding::UTF_8).scrub if string.encoding == Encoding::BINARY

            string.encode(Encoding::UTF_8, invalid: :replace, undef: :replace).scrub
          rescue EncodingError # such as UTF-7, which Ruby can't convert
            text(string.b)
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
